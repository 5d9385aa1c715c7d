; Clocks by Linux's numbers, which other systems share.
@wall_clock = private constant i32 1        ; CLOCK_MONOTONIC
@thread_clock = private constant i32 3      ; CLOCK_THREAD_CPUTIME_ID
