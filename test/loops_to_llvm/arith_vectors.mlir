// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// Forms that upstream has and xDSL's own arith rejects.
// CHECK-LABEL: func.func @f
func.func @f(%x: vector<4xf32>, %i: vector<4xi32>, %c: i1) {
  // CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : vector<4xf32>
  %m = arith.cmpf olt, %x, %x : vector<4xf32>
  // CHECK: arith.cmpf une, %{{.*}}, %{{.*}} fastmath<nnan> : vector<4xf32>
  %n = arith.cmpf une, %x, %x fastmath<nnan> : vector<4xf32>
  // CHECK: arith.cmpi sge, %{{.*}}, %{{.*}} : vector<4xi32>
  %k = arith.cmpi sge, %i, %i : vector<4xi32>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xf32>
  %s = arith.select %m, %x, %x : vector<4xi1>, vector<4xf32>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<4xf32>
  %t = arith.select %c, %x, %x : vector<4xf32>
  // CHECK: arith.fptosi %{{.*}} : vector<4xf32> to vector<4xi8>
  %a = arith.fptosi %x : vector<4xf32> to vector<4xi8>
  // CHECK: arith.extui %{{.*}} : vector<4xi8> to vector<4xi32>
  %b = arith.extui %a : vector<4xi8> to vector<4xi32>
  // CHECK: arith.trunci %{{.*}} : vector<4xi32> to vector<4xi16>
  %d = arith.trunci %b : vector<4xi32> to vector<4xi16>
  // CHECK: arith.uitofp %{{.*}} : vector<4xi16> to vector<4xf32>
  %e = arith.uitofp %d : vector<4xi16> to vector<4xf32>
  // CHECK: arith.index_cast %{{.*}} : vector<4xi32> to vector<4xindex>
  %g = arith.index_cast %i : vector<4xi32> to vector<4xindex>
  func.return
}
