; Whether some bytes are the weights of a bundle: their size, then their CRC-32.
;
;     int NAME_check(const uint8_t *constants, size_t size)
;
; -306674912 is 0xEDB88320, the polynomial of IEEE 802.3 with its bits reversed, as zlib has it.
; It goes bit by bit: a table would take a kilobyte, and this runs once.

define i32 @@NAME@_check(ptr %constants, @INDEX@ %size) nounwind optsize {
  %fits = icmp eq @INDEX@ %size, @SIZE@
  br i1 %fits, label %bytes, label %bad
bytes:
  %i = phi @INDEX@ [0, %0], [%next, %last]
  %crc = phi i32 [-1, %0], [%shifted, %last]
  %more = icmp ult @INDEX@ %i, @SIZE@
  br i1 %more, label %byte, label %end
byte:
  %place = getelementptr i8, ptr %constants, @INDEX@ %i
  %read = load i8, ptr %place
  %wide = zext i8 %read to i32
  %mixed = xor i32 %crc, %wide
  br label %bit
bit:
  %n = phi i32 [0, %byte], [%n.next, %bit]
  %rest = phi i32 [%mixed, %byte], [%shifted, %bit]
  %low = and i32 %rest, 1
  %mask = sub i32 0, %low
  %term = and i32 %mask, -306674912
  %half = lshr i32 %rest, 1
  %shifted = xor i32 %half, %term
  %n.next = add i32 %n, 1
  %go = icmp ult i32 %n.next, 8
  br i1 %go, label %bit, label %last
last:
  %next = add @INDEX@ %i, 1
  br label %bytes
end:
  %sum = xor i32 %crc, -1
  %right = icmp eq i32 %sum, @CHECKSUM@
  br i1 %right, label %good, label %bad
good:
  ret i32 0
bad:
  ret i32 @BAD_WEIGHTS@
}
