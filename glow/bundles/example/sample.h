/* A sample for @NAME@: inputs, and the outputs that they give. */
@ARRAYS@

static const struct sample_array {
  const uint8_t *bytes;
  unsigned offset, size;
  int is_output;
  char kind; /* f: float, d: double, else compared byte by byte */
} sample_arrays[] = {
@ROWS@
};

static const struct {
  int (*run)(const uint8_t *, uint8_t *, uint8_t *);
  int (*reset)(const uint8_t *, uint8_t *, uint8_t *); /* of networks with variables */
  const char *name;
  int first, end; /* of the arrays */
} sample_entries[] = {
@ENTRIES@
};

#define SAMPLE_CONSTANTS @CONSTANTS_BYTES@
#define SAMPLE_MUTABLES @MUTABLES_BYTES@
#define SAMPLE_ACTIVATIONS @ACTIVATIONS_BYTES@
#define SAMPLE_ALIGNMENT @ALIGNMENT@
