// An int8 network in TensorFlow Lite Micro, with no operators but its own.

#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#ifdef REPORT
#include <cstdio>
#endif

extern "C" const unsigned char model[];

alignas(16) static uint8_t arena[ARENA_BYTES];

int main() {
  static tflite::MicroMutableOpResolver<$count> resolver;
  $operators
  static tflite::MicroInterpreter interpreter(tflite::GetModel(model), resolver, arena,
                                              sizeof arena);
  if (interpreter.AllocateTensors() != kTfLiteOk) return 1;
  if (interpreter.Invoke() != kTfLiteOk) return 2;
#ifdef REPORT
  std::printf("%u\n", static_cast<unsigned>(interpreter.arena_used_bytes()));
#endif
  return 0;
}
