/* What runs on a @CPU@ before main: the vector table, memory, the unit for floats.
 *
 * printf and exit go to the debugger or the emulator by semihosting.
 */
#include <stdint.h>
#include <stdlib.h>

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;

int main(void);
void initialise_monitor_handles(void);
void _init(void) {}
void _fini(void) {}

void reset(void) {
  uint32_t *from = &data_load;
  for (uint32_t *to = &data_start; to < &data_end;) *to++ = *from++;
  for (uint32_t *to = &bss_start; to < &bss_end;) *to++ = 0;
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: CP10 and CP11 */
  __asm__ volatile("dsb\n isb");
#endif
  initialise_monitor_handles();
  exit(main());
}

/* Ends the program: SYS_EXIT with ADP_Stopped_RunTimeErrorUnknown. */
static void fault(void) {
  register uint32_t operation __asm__("r0") = 0x18;
  register uint32_t reason __asm__("r1") = 0x20023;
  for (;;) __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, reset, fault, fault, fault, fault, fault, fault,
    fault,      fault, fault, fault, fault, fault, fault, fault,
};
