// RUN: glow-opt --instr-to-loops='target=avx512' --verify-loops %s | filecheck %s

// Equal instructions share a kernel: two element-wise ones of different sizes and one softmax
// for seven instructions.
// CHECK:      func.func private @glow_barrier(memref<64xi8>, index) -> ()
// CHECK-NEXT: func.func private @elementwise_[[RELU:[0-9a-f]+]](%0: memref<128xf32>, %1: memref<128xf32>, %lo: index, %hi: index)
// CHECK:        scf.for %{{.*}} = %lo to %hi
// CHECK:          vector.load %1[%{{.*}}] : memref<128xf32>, vector<64xf32>
// CHECK-NEXT:     arith.cmpf olt
// CHECK-NEXT:     arith.select
// CHECK-NEXT:     vector.store %{{.*}}, %0[%{{.*}}] : memref<128xf32>, vector<64xf32>
// CHECK:      func.func private @softmax_[[SOFTMAX:[0-9a-f]+]](%0: memref<2x64xf32>, %1: memref<2x64xf32>, %lo: index, %hi: index)
// CHECK:        vector.reduction <maxnumf>
// CHECK:        vector.reduction <add>
// CHECK:      func.func private @elementwise_[[ROW:[0-9a-f]+]](%0: memref<64xf32>, %1: memref<64xf32>, %lo: index, %hi: index)

// The segments, and where the arguments lie in %mutables unless the table there says otherwise.
// CHECK:      func.func @main(%constants: memref<1xi8>, %mutables: memref<1856xi8>, %activations: memref<512xi8>, %thread: index, %threads: index, %barrier: memref<64xi8>)
// CHECK-SAME: attributes {glow.constants_bytes = 0 : i64, glow.mutables_bytes = 1856 : i64, glow.activations_bytes = 512 : i64, glow.arguments = array<i64: 64, 576, 1088>}
// CHECK:        %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:        %[[A:.*]] = memref.view %activations[%[[ZERO]]][] : memref<512xi8> to memref<128xf32>
// CHECK:        %[[TABLE:.*]] = memref.view %mutables[%[[ZERO]]][] : memref<1856xi8> to memref<3xindex>
// CHECK-NEXT:   %[[PLACE:.*]] = memref.load %[[TABLE]][%[[ZERO]]] : memref<3xindex>
// CHECK-NEXT:   %[[X:.*]] = memref.view %mutables[%[[PLACE]]][] : memref<1856xi8> to memref<128xf32>

// What is too small to share runs on the first thread, whose work items end at %[[END]].
// CHECK:        %[[FIRST:.*]] = arith.cmpi eq, %thread, %[[ZERO]] : index
// CHECK-NEXT:   %[[END:.*]] = arith.select %[[FIRST]], %{{.*}}, %[[ZERO]] : index

// Nobody waits for it then.
// CHECK:        func.call @elementwise_[[RELU]](%[[A]], %[[X]], %[[ZERO]], %[[END]])
// CHECK-NEXT:   func.call @softmax_[[SOFTMAX]](
// CHECK-NEXT:   func.call @elementwise_[[RELU]](%[[A]],
// CHECK-NEXT:   func.call @softmax_[[SOFTMAX]](
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %threads)

// A loop stays one, its index moves a view.
// CHECK-NEXT:   scf.for %[[I:.*]] = %[[ZERO]] to %{{.*}} step %{{.*}} {
// CHECK-NEXT:     %[[MOVE:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK-NEXT:     %[[OFFSET:.*]] = arith.addi %{{.*}}, %[[MOVE]] : index
// CHECK-NEXT:     %[[OUT:.*]] = memref.view %mutables[%[[OFFSET]]][] : memref<1856xi8> to memref<64xf32>
// CHECK-NEXT:     func.call @elementwise_[[ROW]](%[[OUT]],
// CHECK-NEXT:     func.call @glow_barrier(%barrier, %threads)
// CHECK-NEXT:   }

// CHECK-NEXT:   func.call @elementwise_[[RELU]](
// CHECK-NEXT:   func.call @softmax_[[SOFTMAX]](
// CHECK-NEXT:   func.return
func.func @main(%x: memref<2x64xf32>, %y: memref<2x64xf32>, %z: memref<3x64xf32>) attributes {glow.arena_bytes = 512 : i64} {
  %a = instr.alloc offset 0 : memref<2x64xf32>
  instr.relu @out %a, @in %x
  instr.softmax @out %y, @in %a axis 1
  instr.relu @out %a, @in %y
  instr.softmax @out %y, @in %a axis 1
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %row = instr.tensorview %a : memref<64xf32>
  scf.for %i = %first to %end step %step {
    %out = instr.dynamic_view %z, %i : memref<64xf32>
    instr.relu @out %out, @in %row
  }
  instr.relu @out %y, @in %x
  instr.softmax @out %a, @in %x axis 1
  instr.dealloc %a
  func.return
}
