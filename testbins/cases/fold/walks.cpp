#include "shared.h"

static const Table t0_0 = {f0_0, f0_1, f0_2};
static const Table t0_1 = {f0_1, f0_2, f0_3};
static const Table t0_2 = {f0_2, f0_3, f0_4};
static const Table t1_0 = {f12_0, f9_1, f12_0};
static const Table t1_1 = {f12_1, f9_2, f12_1};
static const Table t1_2 = {f12_0, f9_0, f12_0};
static C0x0 oC0x0;
static C0x1 oC0x1;
static C0x2 oC0x2;
static C0x3 oC0x3;
static C0x4 oC0x4;
static C1x0 oC1x0;
static C1x1 oC1x1;
static C1x2 oC1x2;
static C1x3 oC1x3;
static const Step w0[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:456/root", (void *)&t0_2, 2},
    {"_Z4f0_4PK4Stepi@f1.cpp:18/table", nullptr, 0},
};
static const Step w1[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:223/root", nullptr, 4},
    {"~_Z5f17_2PK4Stepi@f2.cpp:107/tail-many", (void *)&t1_0, 1},
    {"~_Z5f12_0PK4Stepi@f0.cpp:134/tail-many", (void *)&t0_1, 0},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/tail-many", nullptr, 0},
};
static const Step w2[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:468/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:220+_ZL6in67_0PK4Stepi:213/constructor!", nullptr, 0},
    {"~_Z5f11_0PK4Stepi@f0.cpp:124/inlined!", nullptr, 1},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w3[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:476/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:390/direct!", nullptr, 0},
    {"_Z5f19_1PK4Stepi@shared.h:230/folded!", nullptr, 0},
    {"_Z5f11_1PK4Stepi@f1.cpp:122+_ZL6in40_0PK4Stepi:115/folded!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:91/inlined!", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/folded!", nullptr, 0},
};
static const Step w4[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:235/root", nullptr, 1},
    {"_Z5f29_0PK4Stepi@f0.cpp:432/direct!", nullptr, 2},
    {"_ZL7local18PK4Stepi@f0.cpp:204/folded!", static_cast<Base0 *>(&oC0x1), 1},
    {"_ZN4C0x12m1EPK4Stepi@f1.cpp:170/virtual^", nullptr, 1},
};
static const Step w5[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:480/root", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:208/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w6[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:490/root", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w7[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:259/root", static_cast<Base1 *>(&oC1x3), 4},
    {"_ZN4C1x12m0EPK4Stepi@f1.cpp:308/virtual", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w8[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:460/root", nullptr, 4},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:222/constructor!", nullptr, 1},
    {"~_ZL7local18PK4Stepi@f0.cpp:202/folded!", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w9[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:215/root", nullptr, 0},
    {"_Z4f0_3PK4Stepi@f0.cpp:18/direct!", nullptr, 0},
};
static const Step w10[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:472/root", nullptr, 5},
};
static const Step w11[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:474/root", nullptr, 2},
    {"_Z5f29_0PK4Stepi@f0.cpp:428/direct!", nullptr, 0},
    {"_Z5f21_3PK4Stepi@f0.cpp:262/folded!", (void *)&t0_1, 2},
    {"_Z4f0_2PK4Stepi@f2.cpp:10/table", nullptr, 0},
};
static const Step w12[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:241/root", nullptr, 4},
    {"_Z5f27_1PK4Stepi@f1.cpp:390/direct!", nullptr, 0},
    {"_Z5f19_1PK4Stepi@shared.h:234/folded!", nullptr, 2},
};
static const Step w13[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:486/root", nullptr, 3},
    {"_Z5f21_1PK4Stepi@f1.cpp:282/direct!", (void *)&t0_1, 2},
    {"_Z4f0_2PK4Stepi@f2.cpp:10/table", nullptr, 0},
};
static const Step w14[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:488/root", nullptr, 0},
    {"_Z5f12_0PK4Stepi@f0.cpp:136/tail-many", nullptr, 1},
};
static const Step w15[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:253/root", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/direct!", nullptr, 0},
};
static const Step w16[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:454+_ZL6in99_1PK4Stepi:445/root", nullptr, 1},
    {"_Z5f29_0PK4Stepi@f0.cpp:428/inlined!", nullptr, 0},
    {"_Z5f21_3PK4Stepi@f0.cpp:260/folded!", nullptr, 1},
    {"_Z8fail10_0PK4Stepi@f0.cpp:103/noreturn!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded!", nullptr, 0},
};
static const Step w17[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:225/root", nullptr, 5},
};
static const Step w18[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:470+_ZL7in101_4PK4Stepi:455/root", nullptr, 4},
    {"~_Z5f30_1PK4Stepi@f1.cpp:436/tail-many", nullptr, 2},
    {"~_Z5f22_2PK4Stepi@f2.cpp:169/tail-many", nullptr, 1},
    {"_Z5f17_0PK4Stepi@f0.cpp:194/tail-many", nullptr, 2},
};
static const Step w19[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:478/root", nullptr, 4},
    {"_Z5f19_3PK4Stepi@shared.h:254/direct!", nullptr, 0},
    {"_Z5f11_0PK4Stepi@f0.cpp:122+_ZL6in39_0PK4Stepi:115/folded!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:87/inlined!", nullptr, 0},
    {"_Z4f2_1PK4Stepi@shared.h:148/folded!", nullptr, 0},
};
static const Step w20[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:237/root", nullptr, 2},
    {"~_Z5f30_1PK4Stepi@f1.cpp:434/tail-many", nullptr, 1},
    {"_Z5f19_3PK4Stepi@shared.h:258/tail-many", nullptr, 2},
};
static const Step w21[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:482/root", nullptr, 1},
    {"~_Z5f30_0PK4Stepi@f0.cpp:444/tail-many", nullptr, 1},
    {"~_Z5f19_1PK4Stepi@shared.h:232/tail-many", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:75/tail-many", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded", nullptr, 0},
};
static const Step w22[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:494/root", nullptr, 3},
    {"_Z5f28_0PK4Stepi@f0.cpp:406/tail-many", nullptr, 3},
};
static const Step w23[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:251/root", nullptr, 0},
    {"_Z5f22_1PK4Stepi@f1.cpp:292/tail-many", static_cast<Side0 *>(&oC0x4), 0},
    {"_ZN4C0x42q0EPK4Stepi@f1.cpp:196/side^", nullptr, 0},
};
static const Step w24[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:452/root", nullptr, 0},
    {"_Z5f11_1PK4Stepi@f1.cpp:122+_ZL6in40_0PK4Stepi:115/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:89/inlined!", nullptr, 1},
    {"_Z4f6_4PK4Stepi@f1.cpp:67/folded!", nullptr, 0},
};
static const Step w25[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:219+_ZL7in100_2PK4Stepi:208/root", nullptr, 2},
    {"~_Z5f11_0PK4Stepi@f0.cpp:124/inlined!", nullptr, 1},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w26[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:464/root", nullptr, 1},
    {"_Z5f27_0PK4Stepi@f0.cpp:386/direct!", nullptr, 0},
    {"~_Z5f19_2PK4Stepi@shared.h:244/folded!", nullptr, 1},
    {"_Z4f7_2PK4Stepi@f2.cpp:53/tail!", nullptr, 1},
    {"_Z4f6_3PK4Stepi@f0.cpp:67/folded!", nullptr, 0},
};
static const Step w27[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:470/root", nullptr, 0},
    {"~_ZL7local18PK4Stepi@f1.cpp:242/direct!", nullptr, 0},
    {"~_Z4f9_1PK4Stepi@shared.h:198/tail!", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/tail!", nullptr, 0},
};
static const Step w28[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:233/root", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:107/noreturn", nullptr, 3},
};
static const Step w29[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:488/root", nullptr, 4},
    {"_Z5f17_1PK4Stepi@f1.cpp:230+_ZL6in58_0PK4Stepi:223/tail-many", nullptr, 0},
    {"_Z4f2_4PK4Stepi@shared.h:172/inlined", nullptr, 0},
};
static const Step w30[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:496/root", nullptr, 4},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:51/constructor!", nullptr, 0},
};
static const Step w31[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:255/root", nullptr, 2},
    {"_Z5f26_0PK4Stepi@f0.cpp:370/direct!", static_cast<Side0 *>(&oC0x1), 2},
    {"_ZN4C0x12q0EPK4Stepi@f1.cpp:188/side^", nullptr, 0},
};
static const Step w32[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:452/root", nullptr, 0},
    {"~_Z5f11_1PK4Stepi@f1.cpp:124/direct!", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w33[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:221/root", nullptr, 3},
    {"_Z4f7_1PK4Stepi@f1.cpp:79/direct!", nullptr, 2},
};
static const Step w34[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:466/root", nullptr, 2},
    {"~_ZL7local18PK4Stepi@f0.cpp:202/direct!", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w35[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:478/root", nullptr, 4},
    {"_Z5f19_3PK4Stepi@shared.h:258/direct!", nullptr, 2},
};
static const Step w36[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:237/root", nullptr, 2},
    {"_Z5f30_1PK4Stepi@f1.cpp:432/tail-many", nullptr, 0},
    {"_Z8fail10_1PK4Stepi@f1.cpp:105/noreturn", nullptr, 2},
    {"~_Z4f9_2PK4Stepi@shared.h:208/folded", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail", nullptr, 0},
};
static const Step w37[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:490/root", nullptr, 5},
};
static const Step w38[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:492/root", nullptr, 2},
    {"_Z5f19_1PK4Stepi@shared.h:230/direct!", nullptr, 0},
    {"~_Z5f11_1PK4Stepi@f1.cpp:124/folded!", nullptr, 1},
    {"_Z4f9_0PK4Stepi@shared.h:190/tail!", nullptr, 1},
};
static const Step w39[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:257/root", nullptr, 3},
    {"_ZN5K20_2C2EPK4Stepi@f2.cpp:135+_ZL6in69_0PK4Stepi:128/constructor!", nullptr, 0},
    {"~_Z5f11_1PK4Stepi@f1.cpp:124/inlined!", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w40[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:460/root", nullptr, 4},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:222/constructor!", nullptr, 1},
    {"_ZL7local18PK4Stepi@f0.cpp:204/folded!", static_cast<Base0 *>(&oC0x1), 1},
    {"_ZN4C0x12m1EPK4Stepi@f1.cpp:168/virtual^", nullptr, 0},
    {"~_Z5f12_1PK4Stepi@f1.cpp:134/tail-many", (void *)&t0_1, 0},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/tail-many", nullptr, 0},
};
static const Step w41[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:223/root", nullptr, 4},
    {"_Z5f17_2PK4Stepi@f2.cpp:105+_ZL6in59_0PK4Stepi:98/tail-many", nullptr, 0},
    {"_Z4f2_3PK4Stepi@shared.h:164/inlined", nullptr, 0},
};
static const Step w42[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:464/root", nullptr, 1},
    {"_Z5f27_0PK4Stepi@f0.cpp:388/direct!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/folded!", nullptr, 0},
};
static const Step w43[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:472/root", nullptr, 1},
    {"_Z5f29_1PK4Stepi@f1.cpp:422/direct!", nullptr, 2},
    {"_ZL7local18PK4Stepi@f1.cpp:244/folded!", static_cast<Base0 *>(&oC0x0), 1},
    {"_ZN4C0x02m1EPK4Stepi@f0.cpp:158/virtual^", nullptr, 1},
};
static const Step w44[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:239/root", nullptr, 3},
    {"_Z5f21_2PK4Stepi@f2.cpp:157/direct!", (void *)&t0_0, 2},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/table", nullptr, 0},
};
static const Step w45[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:486/root", nullptr, 3},
    {"_Z5f21_1PK4Stepi@f1.cpp:278+_ZL6in71_0PK4Stepi:271/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:87/inlined!", nullptr, 0},
    {"_Z4f2_0PK4Stepi@shared.h:140/folded!", nullptr, 0},
};
static const Step w46[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:490/root", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w47[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:255/root", nullptr, 2},
    {"_Z5f26_0PK4Stepi@f0.cpp:368+_ZL6in87_1PK4Stepi:359/direct!", nullptr, 1},
    {"_Z5f21_3PK4Stepi@f0.cpp:258+_ZL6in73_0PK4Stepi:251/inlined!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:91/inlined!", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/folded!", nullptr, 0},
};
static const Step w48[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:456/root", (void *)&t0_0, 2},
    {"_Z4f0_2PK4Stepi@f2.cpp:10/table", nullptr, 0},
};
static const Step w49[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:217/root", nullptr, 1},
    {"~_Z5f28_2PK4Stepi@f2.cpp:197/tail-many", nullptr, 1},
    {"~_Z5f12_0PK4Stepi@f0.cpp:134/tail-many", (void *)&t0_1, 0},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/tail-many", nullptr, 0},
};
static const Step w50[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:472/root", nullptr, 5},
};
static const Step w51[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:474/root", nullptr, 2},
    {"_Z5f29_0PK4Stepi@f0.cpp:430/direct!", nullptr, 1},
    {"~_Z5f22_2PK4Stepi@f2.cpp:173/tail-many", nullptr, 3},
    {"_Z4f2_2PK4Stepi@shared.h:156/tail-many", nullptr, 0},
};
static const Step w52[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:241/root", nullptr, 4},
    {"_Z5f27_1PK4Stepi@f1.cpp:392/direct!", nullptr, 1},
    {"_Z4f6_2PK4Stepi@f2.cpp:43/folded!", nullptr, 0},
};
static const Step w53[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:484/root", nullptr, 2},
    {"_Z8fail10_0PK4Stepi@f0.cpp:101/noreturn", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w54[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:492/root", nullptr, 2},
    {"_Z5f19_1PK4Stepi@shared.h:234/direct!", nullptr, 2},
};
static const Step w55[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:259/root", static_cast<Base1 *>(&oC1x2), 4},
    {"_ZN4C1x02m0EPK4Stepi@f0.cpp:304/virtual", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w56[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:460/root", nullptr, 4},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:220+_ZL6in67_0PK4Stepi:213/constructor!", nullptr, 0},
    {"_Z5f11_0PK4Stepi@f0.cpp:122+_ZL6in39_0PK4Stepi:115/inlined!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:89/inlined!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded!", nullptr, 0},
};
static const Step w57[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:217/root", nullptr, 1},
    {"_Z5f28_2PK4Stepi@f2.cpp:199/tail-many", nullptr, 2},
    {"_Z8fail10_0PK4Stepi@f0.cpp:101/noreturn", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w58[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:462/root", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:103/noreturn", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded", nullptr, 0},
};
static const Step w59[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:470/root", nullptr, 0},
    {"_ZL7local18PK4Stepi@f1.cpp:246/direct!", nullptr, 2},
};
static const Step w60[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:235/root", nullptr, 1},
    {"_Z5f29_0PK4Stepi@f0.cpp:430/direct!", nullptr, 1},
    {"_Z5f22_2PK4Stepi@f2.cpp:175/tail-many", nullptr, 4},
};
static const Step w61[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:488/root", nullptr, 4},
    {"~_Z5f17_1PK4Stepi@f1.cpp:232/tail-many", (void *)&t1_2, 1},
    {"_Z5f12_0PK4Stepi@f0.cpp:136/tail-many", nullptr, 1},
};
static const Step w62[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:496/root", nullptr, 4},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:51/constructor!", nullptr, 0},
};
static const Step w63[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:255/root", nullptr, 2},
    {"~_Z5f26_0PK4Stepi@f0.cpp:366/direct!", nullptr, 0},
    {"_Z5f19_2PK4Stepi@shared.h:242/tail!", nullptr, 0},
    {"_Z5f11_1PK4Stepi@f1.cpp:122+_ZL6in40_0PK4Stepi:115/folded!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:91/inlined!", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/folded!", nullptr, 0},
};
static const Step w64[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:458/root", nullptr, 3},
    {"_Z5f22_3PK4Stepi@f0.cpp:288/tail-many", static_cast<Side0 *>(&oC0x3), 0},
    {"_ZN4C0x12q0EPK4Stepi@f1.cpp:188/side^", nullptr, 0},
};
static const Step w65[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:225/root", nullptr, 5},
};
static const Step w66[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:466/root", nullptr, 2},
    {"~_ZL7local18PK4Stepi@f0.cpp:202/direct!", nullptr, 0},
    {"_Z4f9_2PK4Stepi@shared.h:210/tail!", nullptr, 1},
};
static const Step w67[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:480/root", nullptr, 5},
};
static const Step w68[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:233/root", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:103/noreturn", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded", nullptr, 0},
};
static const Step w69[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:480/root", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:208/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w70[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:494/root", nullptr, 3},
    {"~_Z5f28_0PK4Stepi@f0.cpp:402/tail-many", nullptr, 1},
    {"~_Z5f12_0PK4Stepi@f0.cpp:134/tail-many", (void *)&t0_2, 0},
    {"_Z4f0_2PK4Stepi@f2.cpp:10/tail-many", nullptr, 0},
};
static const Step w71[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:251/root", nullptr, 0},
    {"_Z5f22_1PK4Stepi@f1.cpp:296/tail-many", nullptr, 2},
    {"_Z5f19_0PK4Stepi@shared.h:218/folded", nullptr, 0},
    {"_Z5f11_0PK4Stepi@f0.cpp:122+_ZL6in39_0PK4Stepi:115/folded", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:87/inlined", nullptr, 0},
    {"_Z4f2_1PK4Stepi@shared.h:148/folded", nullptr, 0},
};
static const Step w72[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:452/root", nullptr, 0},
    {"_Z5f11_1PK4Stepi@f1.cpp:122+_ZL6in40_0PK4Stepi:115/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:93/inlined!", nullptr, 3},
};
static const Step w73[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:221/root", nullptr, 3},
    {"_Z4f7_1PK4Stepi@f1.cpp:77/direct!", nullptr, 1},
    {"_Z4f6_2PK4Stepi@f2.cpp:43/folded!", nullptr, 0},
};
static const Step w74[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:462/root", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:101/noreturn", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w75[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:476/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:390/direct!", nullptr, 0},
    {"~_Z5f19_1PK4Stepi@shared.h:232/folded!", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:75/tail!", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded!", nullptr, 0},
};
static const Step w76[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:239/root", nullptr, 3},
    {"_Z5f21_2PK4Stepi@f2.cpp:159/direct!", nullptr, 3},
};
static const Step w77[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:482/root", nullptr, 1},
    {"_Z5f30_0PK4Stepi@f0.cpp:442/tail-many", nullptr, 0},
    {"_Z8fail10_1PK4Stepi@f1.cpp:101/noreturn", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w78[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:488/root", nullptr, 0},
    {"~_Z5f12_0PK4Stepi@f0.cpp:134/tail-many", (void *)&t0_1, 0},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/tail-many", nullptr, 0},
};
static const Step w79[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:253/root", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/direct!", nullptr, 0},
};
static const Step w80[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:454+_ZL6in99_1PK4Stepi:445/root", nullptr, 1},
    {"_Z5f29_0PK4Stepi@f0.cpp:428/inlined!", nullptr, 0},
    {"_Z5f21_3PK4Stepi@f0.cpp:264/folded!", nullptr, 3},
};
static const Step w81[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:215/root", nullptr, 0},
    {"_Z4f0_3PK4Stepi@f0.cpp:18/direct!", nullptr, 0},
};
static const Step w82[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:462/root", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:105/noreturn", nullptr, 2},
    {"~_Z4f9_1PK4Stepi@shared.h:198/folded", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/tail", nullptr, 0},
};
static const Step w83[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:478/root", nullptr, 4},
    {"~_Z5f19_3PK4Stepi@shared.h:256/direct!", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:77/tail!", nullptr, 1},
    {"_Z4f6_2PK4Stepi@f2.cpp:43/folded!", nullptr, 0},
};
static const Step w84[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:235/root", nullptr, 1},
    {"_Z5f29_0PK4Stepi@f0.cpp:434/direct!", nullptr, 3},
};
static const Step w85[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:484/root", nullptr, 2},
    {"_Z8fail10_0PK4Stepi@f0.cpp:105/noreturn", nullptr, 2},
    {"~_Z4f9_1PK4Stepi@shared.h:198/folded", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/tail", nullptr, 0},
};
static const Step w86[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:494/root", nullptr, 3},
    {"_Z5f28_0PK4Stepi@f0.cpp:404/tail-many", nullptr, 2},
    {"_Z8fail10_1PK4Stepi@f1.cpp:107/noreturn", nullptr, 3},
};
static const Step w87[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:261/root", nullptr, 5},
};
static const Step w88[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:458/root", nullptr, 3},
    {"~_Z5f22_3PK4Stepi@f0.cpp:294/tail-many", nullptr, 3},
    {"_Z4f2_2PK4Stepi@shared.h:156/tail-many", nullptr, 0},
};
static const Step w89[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:223/root", nullptr, 4},
    {"~_Z5f17_2PK4Stepi@f2.cpp:107/tail-many", (void *)&t1_2, 1},
    {"_Z5f12_0PK4Stepi@f0.cpp:136/tail-many", nullptr, 1},
};
static const Step w90[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:468/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:222/constructor!", nullptr, 1},
    {"_ZL7local18PK4Stepi@f0.cpp:204/folded!", static_cast<Base0 *>(&oC0x0), 1},
    {"_ZN4C0x02m1EPK4Stepi@f0.cpp:156/virtual^", nullptr, 0},
    {"~_Z5f12_1PK4Stepi@f1.cpp:134/tail-many", (void *)&t0_0, 0},
    {"_Z4f0_0PK4Stepi@f0.cpp:10/tail-many", nullptr, 0},
};
static const Step w91[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:472/root", nullptr, 1},
    {"_Z5f29_1PK4Stepi@f1.cpp:418/direct!", nullptr, 0},
    {"_Z5f21_3PK4Stepi@f0.cpp:260/folded!", nullptr, 1},
    {"_Z8fail10_0PK4Stepi@f0.cpp:105/noreturn!", nullptr, 2},
    {"_Z4f9_1PK4Stepi@shared.h:200/folded!", nullptr, 1},
};
static const Step w92[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:233/root", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:101/noreturn", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w93[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:486/root", nullptr, 3},
    {"_Z5f21_1PK4Stepi@f1.cpp:280/direct!", nullptr, 1},
    {"_Z8fail10_1PK4Stepi@f1.cpp:103/noreturn!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded!", nullptr, 0},
};
static const Step w94[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:492/root", nullptr, 2},
    {"~_Z5f19_1PK4Stepi@shared.h:232/direct!", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:77/tail!", nullptr, 1},
    {"_Z4f6_2PK4Stepi@f2.cpp:43/folded!", nullptr, 0},
};
static const Step w95[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:257/root", nullptr, 3},
    {"_ZN5K20_2C2EPK4Stepi@f2.cpp:137/constructor!", nullptr, 1},
    {"~_ZL7local18PK4Stepi@f2.cpp:117/folded!", nullptr, 0},
    {"~_Z4f9_0PK4Stepi@shared.h:188/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w96[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:458/root", nullptr, 3},
    {"_Z5f22_3PK4Stepi@f0.cpp:292/tail-many", nullptr, 2},
    {"~_Z5f19_1PK4Stepi@shared.h:232/folded", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:79/tail", nullptr, 2},
};
static const Step w97[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:219+_ZL7in100_2PK4Stepi:208/root", nullptr, 2},
    {"~_Z5f11_0PK4Stepi@f0.cpp:124/inlined!", nullptr, 1},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w98[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:466/root", nullptr, 2},
    {"~_ZL7local18PK4Stepi@f0.cpp:202/direct!", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w99[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:472/root", nullptr, 1},
    {"_Z5f29_1PK4Stepi@f1.cpp:422/direct!", nullptr, 2},
    {"_ZL7local18PK4Stepi@f1.cpp:244/folded!", static_cast<Base0 *>(&oC0x3), 1},
    {"_ZN4C0x12m1EPK4Stepi@f1.cpp:168/virtual^", nullptr, 0},
    {"_Z5f12_1PK4Stepi@f1.cpp:136/tail-many", nullptr, 1},
};
static const Step w100[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:243/root", nullptr, 5},
};
static const Step w101[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:480/root", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:208/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w102[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:490/root", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w103[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:259/root", static_cast<Base1 *>(&oC1x0), 4},
    {"_ZN4C1x02m0EPK4Stepi@f0.cpp:304/virtual", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w104[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:460/root", nullptr, 4},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:220+_ZL6in67_0PK4Stepi:213/constructor!", nullptr, 0},
    {"_Z5f11_0PK4Stepi@f0.cpp:122+_ZL6in39_0PK4Stepi:115/inlined!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:91/inlined!", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/folded!", nullptr, 0},
};
static const Step w105[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:219+_ZL7in100_2PK4Stepi:208/root", nullptr, 2},
    {"~_Z5f11_0PK4Stepi@f0.cpp:124/inlined!", nullptr, 1},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w106[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:470+_ZL7in101_4PK4Stepi:455/root", nullptr, 4},
    {"_Z5f30_1PK4Stepi@f1.cpp:432/tail-many", nullptr, 0},
    {"_Z8fail10_1PK4Stepi@f1.cpp:101/noreturn", nullptr, 0},
    {"_Z9instance3ILi1EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w107[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:474/root", nullptr, 2},
    {"_Z5f29_0PK4Stepi@f0.cpp:432/direct!", nullptr, 2},
    {"_ZL7local18PK4Stepi@f0.cpp:206/folded!", nullptr, 2},
};
static const Step w108[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:241/root", nullptr, 4},
    {"_Z5f27_1PK4Stepi@f1.cpp:394+_ZL6in90_2PK4Stepi:383/direct!", nullptr, 2},
    {"~_Z5f11_0PK4Stepi@f0.cpp:124/inlined!", nullptr, 1},
    {"~_Z4f9_2PK4Stepi@shared.h:208/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w109[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:482/root", nullptr, 1},
    {"_Z5f30_0PK4Stepi@f0.cpp:448/tail-many", nullptr, 3},
};
static const Step w110[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:492/root", nullptr, 2},
    {"_Z5f19_1PK4Stepi@shared.h:230/direct!", nullptr, 0},
    {"~_Z5f11_1PK4Stepi@f1.cpp:124/folded!", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w111[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:253/root", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/direct!", nullptr, 0},
};
static const Step w112[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:456/root", (void *)&t0_1, 2},
    {"_Z4f0_3PK4Stepi@f0.cpp:18/table", nullptr, 0},
};
static const Step w113[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:215/root", nullptr, 0},
    {"_Z4f0_3PK4Stepi@f0.cpp:18/direct!", nullptr, 0},
};
static const Step w114[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:470+_ZL7in101_4PK4Stepi:455/root", nullptr, 4},
    {"~_Z5f30_1PK4Stepi@f1.cpp:434/tail-many", nullptr, 1},
    {"_Z5f19_3PK4Stepi@shared.h:254/tail-many", nullptr, 0},
    {"_Z5f11_0PK4Stepi@f0.cpp:126/folded", nullptr, 2},
};
static const Step w115[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:478/root", nullptr, 4},
    {"~_Z5f19_3PK4Stepi@shared.h:256/direct!", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:75/tail!", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded!", nullptr, 0},
};
static const Step w116[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:235/root", nullptr, 1},
    {"_Z5f29_0PK4Stepi@f0.cpp:428/direct!", nullptr, 0},
    {"_Z5f21_3PK4Stepi@f0.cpp:262/folded!", (void *)&t0_0, 2},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/table", nullptr, 0},
};
static const Step w117[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:488/root", nullptr, 4},
    {"~_Z5f17_1PK4Stepi@f1.cpp:232/tail-many", (void *)&t1_2, 1},
    {"~_Z5f12_0PK4Stepi@f0.cpp:134/tail-many", (void *)&t0_0, 0},
    {"_Z4f0_0PK4Stepi@f0.cpp:10/tail-many", nullptr, 0},
};
static const Step w118[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:496/root", nullptr, 4},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:51/constructor!", nullptr, 0},
};
static const Step w119[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:261/root", nullptr, 5},
};
static const Step w120[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:458/root", nullptr, 3},
    {"_Z5f22_3PK4Stepi@f0.cpp:292/tail-many", nullptr, 2},
    {"~_Z5f19_1PK4Stepi@shared.h:232/folded", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:79/tail", nullptr, 2},
};
static const Step w121[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:221/root", nullptr, 3},
    {"_Z4f7_1PK4Stepi@f1.cpp:75/direct!", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded!", nullptr, 0},
};
static const Step w122[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:464/root", nullptr, 1},
    {"_Z5f27_0PK4Stepi@f0.cpp:390+_ZL6in89_2PK4Stepi:379/direct!", nullptr, 2},
    {"_Z5f11_1PK4Stepi@f1.cpp:126/inlined!", nullptr, 2},
};
static const Step w123[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:470/root", nullptr, 0},
    {"~_ZL7local18PK4Stepi@f1.cpp:242/direct!", nullptr, 0},
    {"~_Z4f9_1PK4Stepi@shared.h:198/tail!", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/tail!", nullptr, 0},
};
static const Step w124[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:239/root", nullptr, 3},
    {"_Z5f21_2PK4Stepi@f2.cpp:153+_ZL6in72_0PK4Stepi:146/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f2.cpp:63/inlined!", nullptr, 0},
    {"_Z4f2_0PK4Stepi@shared.h:140/folded!", nullptr, 0},
};
static const Step w125[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:484/root", nullptr, 2},
    {"_Z8fail10_0PK4Stepi@f0.cpp:107/noreturn", nullptr, 3},
};
static const Step w126[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:496/root", nullptr, 4},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:51/constructor!", nullptr, 0},
};
static const Step w127[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:255/root", nullptr, 2},
    {"_Z5f26_0PK4Stepi@f0.cpp:368+_ZL6in87_1PK4Stepi:359/direct!", nullptr, 1},
    {"_Z5f21_3PK4Stepi@f0.cpp:258+_ZL6in73_0PK4Stepi:251/inlined!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:89/inlined!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/folded!", nullptr, 0},
};
static const Step w128[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:462/root", nullptr, 5},
};
static const Step w129[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:217/root", nullptr, 1},
    {"_Z5f28_2PK4Stepi@f2.cpp:195/tail-many", nullptr, 0},
    {"_Z5f27_1PK4Stepi@f1.cpp:394+_ZL6in90_2PK4Stepi:383/folded", nullptr, 2},
    {"_Z5f11_0PK4Stepi@f0.cpp:122+_ZL6in39_0PK4Stepi:115/inlined", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:91/inlined", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/folded", nullptr, 0},
};
static const Step w130[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:470+_ZL7in101_4PK4Stepi:455/root", nullptr, 4},
    {"~_Z5f30_1PK4Stepi@f1.cpp:436/tail-many", nullptr, 2},
    {"_Z5f22_2PK4Stepi@f2.cpp:171/tail-many", nullptr, 2},
    {"_Z5f19_2PK4Stepi@shared.h:242/folded", nullptr, 0},
    {"_Z5f11_1PK4Stepi@f1.cpp:126/folded", nullptr, 2},
};
static const Step w131[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:472/root", nullptr, 1},
    {"_Z5f29_1PK4Stepi@f1.cpp:420/direct!", nullptr, 1},
    {"~_Z5f22_1PK4Stepi@f1.cpp:298/tail-many", nullptr, 3},
    {"_Z4f2_2PK4Stepi@shared.h:156/tail-many", nullptr, 0},
};
static const Step w132[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:237/root", nullptr, 2},
    {"~_Z5f30_1PK4Stepi@f1.cpp:434/tail-many", nullptr, 1},
    {"_Z5f19_3PK4Stepi@shared.h:258/tail-many", nullptr, 2},
};
static const Step w133[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:486/root", nullptr, 3},
    {"_Z5f21_1PK4Stepi@f1.cpp:284/direct!", nullptr, 3},
};
static const Step w134[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:488/root", nullptr, 0},
    {"~_Z5f12_0PK4Stepi@f0.cpp:134/tail-many", (void *)&t0_0, 0},
    {"_Z4f0_0PK4Stepi@f0.cpp:10/tail-many", nullptr, 0},
};
static const Step w135[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:259/root", static_cast<Base1 *>(&oC1x3), 4},
    {"_ZN4C1x12m0EPK4Stepi@f1.cpp:308/virtual", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:180/folded", nullptr, 0},
};
static const Step w136[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:454+_ZL6in99_1PK4Stepi:445/root", nullptr, 1},
    {"_Z5f29_0PK4Stepi@f0.cpp:430/inlined!", nullptr, 1},
    {"_Z5f22_2PK4Stepi@f2.cpp:171/tail-many", nullptr, 2},
    {"~_Z5f19_2PK4Stepi@shared.h:244/folded", nullptr, 1},
    {"_Z4f7_2PK4Stepi@f2.cpp:51/tail", nullptr, 0},
    {"_Z4f6_4PK4Stepi@f1.cpp:67/folded", nullptr, 0},
};
static const Step w137[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:221/root", nullptr, 3},
    {"_Z4f7_1PK4Stepi@f1.cpp:77/direct!", nullptr, 1},
    {"_Z4f6_2PK4Stepi@f2.cpp:43/folded!", nullptr, 0},
};
static const Step w138[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:468/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:220+_ZL6in67_0PK4Stepi:213/constructor!", nullptr, 0},
    {"_Z5f11_0PK4Stepi@f0.cpp:122+_ZL6in39_0PK4Stepi:115/inlined!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:87/inlined!", nullptr, 0},
    {"_Z4f2_1PK4Stepi@shared.h:148/folded!", nullptr, 0},
};
static const Step w139[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:476/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:392/direct!", nullptr, 1},
    {"_Z4f6_2PK4Stepi@f2.cpp:43/folded!", nullptr, 0},
};
static const Step w140[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:233/root", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:105/noreturn", nullptr, 2},
    {"~_Z4f9_1PK4Stepi@shared.h:198/folded", nullptr, 0},
    {"_Z4f6_0PK4Stepi@f0.cpp:59/tail", nullptr, 0},
};
static const Step w141[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:480/root", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:208/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w142[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:490/root", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/direct!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w143[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:251/root", nullptr, 0},
    {"~_Z5f22_1PK4Stepi@f1.cpp:294/tail-many", nullptr, 1},
    {"_Z5f17_0PK4Stepi@f0.cpp:190+_ZL6in57_0PK4Stepi:183/tail-many", nullptr, 0},
    {"_Z4f2_1PK4Stepi@shared.h:148/inlined", nullptr, 0},
};
static const Step w144[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:452/root", nullptr, 0},
    {"~_Z5f11_1PK4Stepi@f1.cpp:124/direct!", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w145[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:225/root", nullptr, 5},
};
static const Step w146[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:468/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:220+_ZL6in67_0PK4Stepi:213/constructor!", nullptr, 0},
    {"_Z5f11_0PK4Stepi@f0.cpp:126/inlined!", nullptr, 2},
};
static const Step w147[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:474/root", nullptr, 2},
    {"_Z5f29_0PK4Stepi@f0.cpp:432/direct!", nullptr, 2},
    {"_ZL7local18PK4Stepi@f0.cpp:204/folded!", static_cast<Base0 *>(&oC0x4), 1},
    {"_ZN4C0x42m1EPK4Stepi@f1.cpp:180/virtual^", nullptr, 1},
};
static const Step w148[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:241/root", nullptr, 4},
    {"_Z5f27_1PK4Stepi@f1.cpp:392/direct!", nullptr, 1},
    {"_Z4f6_2PK4Stepi@f2.cpp:43/folded!", nullptr, 0},
};
static const Step w149[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:482/root", nullptr, 1},
    {"~_Z5f30_0PK4Stepi@f0.cpp:446/tail-many", nullptr, 2},
    {"_Z5f22_2PK4Stepi@f2.cpp:167/tail-many", static_cast<Side0 *>(&oC0x2), 0},
    {"_ZN4C0x02q0EPK4Stepi@f0.cpp:166/side^", nullptr, 0},
};
static const Step w150[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:492/root", nullptr, 2},
    {"_Z5f19_1PK4Stepi@shared.h:230/direct!", nullptr, 0},
    {"~_Z5f11_1PK4Stepi@f1.cpp:124/folded!", nullptr, 1},
    {"~_Z4f9_0PK4Stepi@shared.h:188/tail!", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail!", nullptr, 0},
};
static const Step w151[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:253/root", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/direct!", nullptr, 0},
};
static const Step w152[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:458/root", nullptr, 3},
    {"~_Z5f22_3PK4Stepi@f0.cpp:290/tail-many", nullptr, 1},
    {"_Z5f17_1PK4Stepi@f1.cpp:230+_ZL6in58_0PK4Stepi:223/tail-many", nullptr, 0},
    {"_Z4f2_4PK4Stepi@shared.h:172/inlined", nullptr, 0},
};
static const Step w153[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:217/root", nullptr, 1},
    {"~_Z5f28_2PK4Stepi@f2.cpp:197/tail-many", nullptr, 1},
    {"~_Z5f12_0PK4Stepi@f0.cpp:134/tail-many", (void *)&t0_0, 0},
    {"_Z4f0_0PK4Stepi@f0.cpp:10/tail-many", nullptr, 0},
};
static const Step w154[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:464/root", nullptr, 1},
    {"_Z5f27_0PK4Stepi@f0.cpp:388/direct!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/folded!", nullptr, 0},
};
static const Step w155[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:480/root", nullptr, 5},
};
static const Step w156[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:237/root", nullptr, 2},
    {"_Z5f30_1PK4Stepi@f1.cpp:432/tail-many", nullptr, 0},
    {"_Z8fail10_1PK4Stepi@f1.cpp:105/noreturn", nullptr, 2},
    {"~_Z4f9_2PK4Stepi@shared.h:208/folded", nullptr, 0},
    {"_Z4f6_1PK4Stepi@f1.cpp:59/tail", nullptr, 0},
};
static const Step w157[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:488/root", nullptr, 4},
    {"~_Z5f17_1PK4Stepi@f1.cpp:232/tail-many", (void *)&t1_1, 1},
    {"~_Z5f12_1PK4Stepi@f1.cpp:134/tail-many", (void *)&t0_2, 0},
    {"_Z4f0_2PK4Stepi@f2.cpp:10/tail-many", nullptr, 0},
};
static const Step w158[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:494/root", nullptr, 3},
    {"_Z5f28_0PK4Stepi@f0.cpp:400/tail-many", nullptr, 0},
    {"_Z5f27_0PK4Stepi@f0.cpp:390+_ZL6in89_2PK4Stepi:379/folded", nullptr, 2},
    {"_Z5f11_1PK4Stepi@f1.cpp:122+_ZL6in40_0PK4Stepi:115/inlined", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:87/inlined", nullptr, 0},
    {"_Z4f2_0PK4Stepi@shared.h:140/folded", nullptr, 0},
};
static const Step w159[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:255/root", nullptr, 2},
    {"_Z5f26_0PK4Stepi@f0.cpp:370/direct!", static_cast<Side0 *>(&oC0x0), 2},
    {"_ZN4C0x02q0EPK4Stepi@f0.cpp:166/side^", nullptr, 0},
};

const Walk walks[] = {
    {w0, f31_0},
    {w1, f32_0},
    {w2, f33_0},
    {w3, f34_0},
    {w4, f35_0},
    {w5, f36_0},
    {w6, f37_0},
    {w7, f38_0},
    {w8, f31_0},
    {w9, f32_0},
    {w10, f33_0},
    {w11, f34_0},
    {w12, f35_0},
    {w13, f36_0},
    {w14, f37_0},
    {w15, f38_0},
    {w16, f31_0},
    {w17, f32_0},
    {w18, f33_0},
    {w19, f34_0},
    {w20, f35_0},
    {w21, f36_0},
    {w22, f37_0},
    {w23, f38_0},
    {w24, f31_0},
    {w25, f32_0},
    {w26, f33_0},
    {w27, f34_0},
    {w28, f35_0},
    {w29, f36_0},
    {w30, f37_0},
    {w31, f38_0},
    {w32, f31_0},
    {w33, f32_0},
    {w34, f33_0},
    {w35, f34_0},
    {w36, f35_0},
    {w37, f36_0},
    {w38, f37_0},
    {w39, f38_0},
    {w40, f31_0},
    {w41, f32_0},
    {w42, f33_0},
    {w43, f34_0},
    {w44, f35_0},
    {w45, f36_0},
    {w46, f37_0},
    {w47, f38_0},
    {w48, f31_0},
    {w49, f32_0},
    {w50, f33_0},
    {w51, f34_0},
    {w52, f35_0},
    {w53, f36_0},
    {w54, f37_0},
    {w55, f38_0},
    {w56, f31_0},
    {w57, f32_0},
    {w58, f33_0},
    {w59, f34_0},
    {w60, f35_0},
    {w61, f36_0},
    {w62, f37_0},
    {w63, f38_0},
    {w64, f31_0},
    {w65, f32_0},
    {w66, f33_0},
    {w67, f34_0},
    {w68, f35_0},
    {w69, f36_0},
    {w70, f37_0},
    {w71, f38_0},
    {w72, f31_0},
    {w73, f32_0},
    {w74, f33_0},
    {w75, f34_0},
    {w76, f35_0},
    {w77, f36_0},
    {w78, f37_0},
    {w79, f38_0},
    {w80, f31_0},
    {w81, f32_0},
    {w82, f33_0},
    {w83, f34_0},
    {w84, f35_0},
    {w85, f36_0},
    {w86, f37_0},
    {w87, f38_0},
    {w88, f31_0},
    {w89, f32_0},
    {w90, f33_0},
    {w91, f34_0},
    {w92, f35_0},
    {w93, f36_0},
    {w94, f37_0},
    {w95, f38_0},
    {w96, f31_0},
    {w97, f32_0},
    {w98, f33_0},
    {w99, f34_0},
    {w100, f35_0},
    {w101, f36_0},
    {w102, f37_0},
    {w103, f38_0},
    {w104, f31_0},
    {w105, f32_0},
    {w106, f33_0},
    {w107, f34_0},
    {w108, f35_0},
    {w109, f36_0},
    {w110, f37_0},
    {w111, f38_0},
    {w112, f31_0},
    {w113, f32_0},
    {w114, f33_0},
    {w115, f34_0},
    {w116, f35_0},
    {w117, f36_0},
    {w118, f37_0},
    {w119, f38_0},
    {w120, f31_0},
    {w121, f32_0},
    {w122, f33_0},
    {w123, f34_0},
    {w124, f35_0},
    {w125, f36_0},
    {w126, f37_0},
    {w127, f38_0},
    {w128, f31_0},
    {w129, f32_0},
    {w130, f33_0},
    {w131, f34_0},
    {w132, f35_0},
    {w133, f36_0},
    {w134, f37_0},
    {w135, f38_0},
    {w136, f31_0},
    {w137, f32_0},
    {w138, f33_0},
    {w139, f34_0},
    {w140, f35_0},
    {w141, f36_0},
    {w142, f37_0},
    {w143, f38_0},
    {w144, f31_0},
    {w145, f32_0},
    {w146, f33_0},
    {w147, f34_0},
    {w148, f35_0},
    {w149, f36_0},
    {w150, f37_0},
    {w151, f38_0},
    {w152, f31_0},
    {w153, f32_0},
    {w154, f33_0},
    {w155, f34_0},
    {w156, f35_0},
    {w157, f36_0},
    {w158, f37_0},
    {w159, f38_0},
};
const int walk_count = 160;
