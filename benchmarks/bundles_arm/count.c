/* Counts the instructions of functions: QEMU's clock moves by the same time at each. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "network.h"
#include "network.sample.h"

#define CONTROL (*(volatile uint32_t *)0xE000E010) /* SysTick */
#define RELOAD (*(volatile uint32_t *)0xE000E014)
#define VALUE (*(volatile uint32_t *)0xE000E018)
#define TICKS 0xFFFFFFu
#define TURNS 100000

void prepare(void);
$declarations

static uint32_t ticks(int (*function)(void)) {
  RELOAD = TICKS;
  VALUE = 0;
  CONTROL = 5;
  uint32_t start = VALUE;
  int status = function();
  uint32_t end = VALUE;
  CONTROL = 0;
  if (status) printf("failed %d\n", status);
  return (start - end) & TICKS;
}

/* Two instructions a turn, by which the others are counted. */
static int known(void) {
  uint32_t turns = TURNS;
  __asm__ volatile("1: subs %0, #1\n bne 1b" : "+r"(turns) : : "cc");
  return 0;
}

static int nothing(void) { return 0; }

static _Alignas(64) const uint8_t constants[] = {
#include "network.weights.txt"
};
static _Alignas(64) uint8_t mutables[NETWORK_MUTABLES_BYTES];
static _Alignas(64) uint8_t activations[NETWORK_ACTIVATIONS_BYTES + 1];

static int inference(void) { return network(constants, mutables, activations); }

static uint32_t empty, turn;

static void report(const char *name, int (*function)(void)) {
  uint64_t count = (uint64_t)(ticks(function) - empty) * 2 * TURNS;
  printf("%s %lu\n", name, (unsigned long)((count + turn / 2) / turn));
}

int main(void) {
  const struct sample_array *input = sample_arrays, *output = sample_arrays + 1;
  memcpy(mutables + input->offset, input->bytes, input->size);
  empty = ticks(nothing);
  turn = ticks(known) - empty;
  prepare();
  report("network", inference);
  printf("equal %d\n", !memcmp(mutables + output->offset, output->bytes, output->size));
  $reports
  return 0;
}
