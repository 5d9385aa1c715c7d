/* Runs the sample of @NAME@ and compares what comes out with what is expected. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "@NAME@.h"
#include "@NAME@.sample.h"

#if !@LINKED@
/* The weights, as the linker finds them in a file. */
__asm__(".section .rodata\n"
        ".balign @ALIGNMENT@\n"
        ".global weights\n"
        "weights: .incbin \"@NAME@.weights.bin\"\n"
        ".text\n");
extern const uint8_t weights[];
#endif

static uint8_t mutables[SAMPLE_MUTABLES] __attribute__((aligned(SAMPLE_ALIGNMENT)));
static uint8_t activations[SAMPLE_ACTIVATIONS] __attribute__((aligned(SAMPLE_ALIGNMENT)));

/* How far floats may be from the expected ones, in parts of the largest. */
static const double tolerance = 1e-4;

static double number(const uint8_t *bytes, char kind, unsigned index) {
  if (kind == 'd') {
    double wide;
    memcpy(&wide, bytes + 8 * index, 8);
    return wide;
  }
  float single;
  memcpy(&single, bytes + 4 * index, 4);
  return single;
}

/* Whether an output is what is expected. */
static int is_right(const struct sample_array *sample) {
  const uint8_t *found = mutables + sample->offset;
  unsigned width = sample->kind == 'd' ? 8 : 4;
  double largest = 0;
  if (sample->kind == 'i')
    return memcmp(found, sample->bytes, sample->size) == 0;
  for (unsigned i = 0; i < sample->size / width; i++) {
    double expected = number(sample->bytes, sample->kind, i);
    if (expected > largest) largest = expected;
    if (-expected > largest) largest = -expected;
  }
  for (unsigned i = 0; i < sample->size / width; i++) {
    double expected = number(sample->bytes, sample->kind, i);
    double off = number(found, sample->kind, i) - expected;
    if (!(off <= tolerance * largest && -off <= tolerance * largest)) {
      printf("element %u is off by %g of %g\n", i, off, expected);
      return 0;
    }
  }
  return 1;
}

int main(void) {
  int error = @NAME@_check(@CONSTANTS@, SAMPLE_CONSTANTS);
  for (unsigned n = 0; !error && n < sizeof sample_entries / sizeof *sample_entries; n++) {
    for (int i = sample_entries[n].first; i < sample_entries[n].end; i++)
      if (!sample_arrays[i].is_output)
        memcpy(mutables + sample_arrays[i].offset, sample_arrays[i].bytes, sample_arrays[i].size);
    if (sample_entries[n].reset)
      error = sample_entries[n].reset(@CONSTANTS@, mutables, activations);
    if (!error) error = sample_entries[n].run(@CONSTANTS@, mutables, activations);
    for (int i = sample_entries[n].first; !error && i < sample_entries[n].end; i++)
      if (sample_arrays[i].is_output && !is_right(&sample_arrays[i])) {
        printf("%s: output %d is wrong\n", sample_entries[n].name, i);
        return 1;
      }
  }
  if (error) {
    printf("error %d\n", error);
    return 1;
  }
  printf("OK\n");
  return 0;
}
