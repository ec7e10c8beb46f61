//# about: device code for AMD GPUs in every container of device code, and alone
//# let: CC = $CLANG -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib $MAP
//# let: LINK = $LLD -shared --no-undefined
//# variant: gfx90a: $CC -mcpu=gfx90a -g -O1 -c gpu.cl -o $T/a.o; $LINK $T/a.o -o $OUT
//# variant: containers.set: mkdir -p $OUT; for p in gfx90a gfx906; do $CC -mcpu=$p -g -O1 -c gpu.cl -o $T/$p.o; $LINK $T/$p.o -o $T/$p; done;
//#| cp $T/gfx90a $OUT; H=host-x86_64-unknown-linux-gnu-; A=hipv4-amdgcn-amd-amdhsa-;
//#| $BUNDLER -type=o -targets=$H,$A-gfx906,$A-gfx90a:xnack+ -input=/dev/null -input=$T/gfx906 -input=$T/gfx90a -output=$OUT/two.bundle;
//#| $BUNDLER -type=o -compress -targets=$H,$A-gfx906,$A-gfx90a:xnack+ -input=/dev/null -input=$T/gfx906 -input=$T/gfx90a -output=$OUT/two.compressed;
//#| COMPRESSED_BUNDLE_FORMAT_VERSION=2 $BUNDLER -type=o -compress -targets=$H,$A-gfx906,$A-gfx90a:xnack+ -input=/dev/null -input=$T/gfx906 -input=$T/gfx90a -output=$OUT/two.compressed2;
//#| $OFFLOAD -o $OUT/two.offload --image=file=$T/gfx906,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=openmp --image=file=$T/gfx90a,triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+,kind=openmp;
//#| printf 'void _start(void) { for (;;) ; }\n' > $T/host.c; cd $T; $CLANG -target x86_64-linux-gnu $MAP -fdebug-compilation-dir=/tmpdir -g -nostdlib -static -c host.c -o host.o; $LLD host.o -o host;
//#| $LLVM_OBJCOPY --add-section .hip_fatbin=$OUT/two.compressed host $OUT/host

static __attribute__((noinline)) int twice(int x) {
  return x * 2 + 1;
}

static inline int at_most(int x, int most) {
  return x > most ? most : x;
}

static inline int scaled(int x, int most) {
  return at_most(x * 3, most) + at_most(x, 7);
}

__kernel void scale(__global int *out, __global const int *in, int most) {
  unsigned i = __builtin_amdgcn_workitem_id_x();
  int v = in[i];
  if (v > 10)
    v = scaled(v, most);
  else
    v = twice(v);
  out[i] = v;
}

__kernel void sum(__global int *out, __global const int *in, int n) {
  int all = 0;
  for (int i = 0; i < n; i++)
    all += scaled(in[i], n);
  out[__builtin_amdgcn_workgroup_id_x()] = twice(all);
}
