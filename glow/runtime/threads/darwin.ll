; Clocks by macOS's numbers.
@wall_clock = private constant i32 6        ; CLOCK_MONOTONIC
@thread_clock = private constant i32 16     ; CLOCK_THREAD_CPUTIME_ID
