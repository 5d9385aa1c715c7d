# Builds the sample program of @NAME@ for a board with a @CPU@, and runs it in QEMU.
#   make run                       needs gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm
#   make run CROSS=/opt/arm/bin/arm-none-eabi-

CROSS ?= arm-none-eabi-
QEMU ?= qemu-system-arm
CFLAGS ?= -O2
FLAGS = -mthumb @FLAGS@

.PHONY: run size clean

run: @NAME@.elf
	$(QEMU) -M @MACHINE@ -display none -monitor none -serial none \
	  -semihosting-config enable=on,target=native -kernel $<

@NAME@.elf: main.c startup.c board.ld @NAME@.o @NAME@.h @NAME@.sample.h
	$(CROSS)gcc $(FLAGS) $(CFLAGS) --specs=rdimon.specs -nostartfiles -Wl,-z,noexecstack -T board.ld \
	  -o $@ startup.c main.c @NAME@.o

size: @NAME@.elf
	$(CROSS)size -A $<

clean:
	rm -f @NAME@.elf
