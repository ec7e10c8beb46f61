#include "shared.h"

static const Table t0_0 = {f2_0, f0_1, f6_0};
static const Table t0_1 = {f2_1, f0_2, f6_1};
static const Table t0_2 = {f2_2, f0_3, f6_0};
static const Table t1_0 = {f11_0, f12_1, f6_0};
static const Table t1_1 = {f11_1, f12_2, f6_1};
static const Table t1_2 = {f11_2, f12_0, f6_0};
static C0x0 oC0x0;
static C0x1 oC0x1;
static C0x2 oC0x2;
static C0x3 oC0x3;
static C1x0 oC1x0;
static C1x1 oC1x1;
static C1x2 oC1x2;
static C1x3 oC1x3;
static const Step w0[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:400/root", nullptr, 2},
    {"_Z5f28_1PK4Stepi@f1.cpp:348/direct!", nullptr, 0},
    {"_Z4f2_2PK4Stepi@shared.h:159/folded!", nullptr, 0},
};
static const Step w1[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:266/root", nullptr, 1},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:60/constructor!", nullptr, 0},
};
static const Step w2[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:570/root", static_cast<Base0 *>(&oC0x0), 2},
    {"_ZN4C0x02m0EPK4Stepi@f0.cpp:180/virtual^", nullptr, 0},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/folded", nullptr, 0},
};
static const Step w3[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:414/root", nullptr, 0},
    {"_Z5f17_0PK4Stepi@f0.cpp:282+_ZL6in64_2PK4Stepi:271/direct!", nullptr, 2},
    {"_Z5f12_2PK4Stepi@f2.cpp:104/inlined!", nullptr, 0},
    {"_Z4f7_2PK4Stepi@f2.cpp:49+_ZL6in30_0PK4Stepi:42/folded!", nullptr, 0},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w4[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:288/root", nullptr, 0},
    {"_Z4f9_2PK4Stepi@shared.h:239/direct!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded!", nullptr, 0},
};
static const Step w5[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:592/root", nullptr, 1},
    {"_Z8fail10_0PK4Stepi@f0.cpp:128/noreturn", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/folded", nullptr, 0},
};
static const Step w6[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:440/root", static_cast<Side0 *>(&oC0x3), 4},
    {"_ZN4C0x32q1EPK4Stepi@f0.cpp:264/side^", nullptr, 2},
};
static const Step w7[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:312+_ZL7in114_0PK4Stepi:305/root", nullptr, 0},
    {"_Z5f30_1PK4Stepi@f1.cpp:380/inlined!", nullptr, 2},
    {"_Z5f28_1PK4Stepi@f1.cpp:350/folded!", nullptr, 1},
    {"_Z5f19_2PK4Stepi@shared.h:307+_ZL6in71_3PK4Stepi:294/tail-many", nullptr, 3},
    {"_Z5f17_1PK4Stepi@f1.cpp:184/inlined", nullptr, 1},
    {"_ZN4K5_1C2EPK4Stepi@f1.cpp:43/constructor", nullptr, 0},
};
static const Step w8[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:404/root", nullptr, 4},
    {"_Z5f28_0PK4Stepi@f0.cpp:506/direct!", nullptr, 1},
    {"_Z5f19_0PK4Stepi@shared.h:263+_ZL6in69_3PK4Stepi:250/tail-many", nullptr, 3},
    {"~_Z5f17_1PK4Stepi@f1.cpp:182/inlined", nullptr, 0},
    {"~_Z5f11_2PK4Stepi@f2.cpp:92/tail", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail", nullptr, 0},
};
static const Step w9[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:272/root", nullptr, 4},
    {"_Z5f12_2PK4Stepi@f2.cpp:104/direct!", nullptr, 0},
    {"~_Z4f7_2PK4Stepi@f2.cpp:51/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail!", nullptr, 0},
};
static const Step w10[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:572/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:336/direct!", nullptr, 1},
    {"_Z8fail10_3PK4Stepi@f0.cpp:141/noreturn!", nullptr, 0},
    {"_Z4f9_1PK4Stepi@shared.h:219/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/folded!", nullptr, 0},
};
static const Step w11[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:420/root", (void *)&t1_0, 3},
    {"~_Z5f11_0PK4Stepi@f0.cpp:158/table", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail", nullptr, 0},
};
static const Step w12[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:296/root", nullptr, 4},
    {"~_Z5f17_0PK4Stepi@f0.cpp:278/direct!", nullptr, 0},
    {"_Z5f11_2PK4Stepi@f2.cpp:94/tail!", nullptr, 2},
    {"_Z8fail10_1PK4Stepi@f1.cpp:95/noreturn!", nullptr, 2},
    {"~_Z4f9_1PK4Stepi@shared.h:221/folded!", nullptr, 2},
    {"_Z4f2_2PK4Stepi@shared.h:159/tail!", nullptr, 0},
};
static const Step w13[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:594/root", (void *)&t1_1, 2},
    {"_Z5f12_2PK4Stepi@f2.cpp:106/table", nullptr, 1},
};
static const Step w14[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:438/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:310/constructor!", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:126/noreturn!", nullptr, 0},
    {"_Z4f9_2PK4Stepi@shared.h:237+_ZL6in37_0PK4Stepi:230/folded!", nullptr, 0},
    {"~_Z4f7_0PK4Stepi@f0.cpp:84/inlined!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail!", nullptr, 0},
};
static const Step w15[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:320/root", nullptr, 4},
    {"_Z5f19_2PK4Stepi@shared.h:301/tail-many", nullptr, 0},
    {"_Z8fail10_3PK4Stepi@f0.cpp:145/noreturn", nullptr, 2},
    {"_Z4f9_2PK4Stepi@shared.h:243/folded", nullptr, 3},
};
static const Step w16[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:396+_ZL7in107_0PK4Stepi:389/root", nullptr, 0},
    {"_Z5f12_0PK4Stepi@f0.cpp:170/inlined!", nullptr, 0},
    {"_Z4f7_3PK4Stepi@f0.cpp:104/folded!", nullptr, 2},
};
static const Step w17[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:268/root", nullptr, 2},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w18[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:576/root", nullptr, 5},
};
static const Step w19[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:418/root", nullptr, 2},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:314+_ZL6in72_2PK4Stepi:303/constructor!", nullptr, 2},
    {"~_Z4f9_2PK4Stepi@shared.h:241/inlined!", nullptr, 2},
    {"_Z4f2_3PK4Stepi@shared.h:167/tail!", nullptr, 0},
};
static const Step w20[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:294/root", nullptr, 3},
    {"~_Z5f22_1PK4Stepi@f1.cpp:246/direct!", nullptr, 0},
    {"_Z5f21_1PK4Stepi@f1.cpp:228/tail!", nullptr, 0},
    {"~_Z5f19_2PK4Stepi@shared.h:303/tail-many", (void *)&t1_2, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail-many", nullptr, 0},
};
static const Step w21[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:598/root", nullptr, 4},
    {"_ZL7local18PK4Stepi@f0.cpp:296/direct!", nullptr, 2},
};
static const Step w22[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:432/root", nullptr, 0},
    {"_Z5f26_0PK4Stepi@f0.cpp:448+_ZL6in92_2PK4Stepi:437/direct!", nullptr, 2},
    {"~_Z5f19_2PK4Stepi@shared.h:303/tail-many", (void *)&t1_0, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail-many", nullptr, 0},
};
static const Step w23[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:312+_ZL7in114_0PK4Stepi:305/root", nullptr, 0},
    {"_Z5f30_1PK4Stepi@f1.cpp:382/inlined!", nullptr, 3},
};
static const Step w24[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:398/root", nullptr, 1},
    {"_Z5f22_1PK4Stepi@f1.cpp:250/direct!", static_cast<Base0 *>(&oC0x1), 2},
    {"_ZN4C0x12m1EPK4Stepi@f1.cpp:146+_ZL6in53_0PK4Stepi:139/virtual^", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:77/inlined", nullptr, 0},
    {"_Z7fail4_1PK4Stepi@f1.cpp:34/noreturn", nullptr, 0},
};
static const Step w25[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:270/root", nullptr, 3},
    {"_Z4f9_2PK4Stepi@shared.h:237+_ZL6in37_0PK4Stepi:230/direct!", nullptr, 0},
    {"_Z4f7_0PK4Stepi@f0.cpp:82+_ZL6in28_0PK4Stepi:75/inlined!", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w26[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:566/root", nullptr, 0},
    {"_Z5f29_0PK4Stepi@f0.cpp:520/direct!", nullptr, 1},
    {"_ZN5K20_1C2EPK4Stepi@f1.cpp:216/constructor!", nullptr, 1},
    {"_Z4f9_1PK4Stepi@shared.h:219/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/folded!", nullptr, 0},
};
static const Step w27[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:416/root", nullptr, 1},
    {"_Z4f9_1PK4Stepi@shared.h:223/direct!", nullptr, 3},
};
static const Step w28[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:292/root", nullptr, 2},
    {"_ZL6local8PK4Stepi@f2.cpp:65/direct!", nullptr, 2},
    {"_Z4f2_2PK4Stepi@shared.h:159/folded!", nullptr, 0},
};
static const Step w29[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:594/root", (void *)&t1_0, 2},
    {"_Z5f12_1PK4Stepi@f1.cpp:122/table", nullptr, 1},
};
static const Step w30[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:434/root", nullptr, 1},
    {"~_Z5f11_2PK4Stepi@f2.cpp:90/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f2.cpp:63/tail!", nullptr, 1},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/folded!", nullptr, 0},
};
static const Step w31[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:318/root", nullptr, 3},
    {"_Z5f26_1PK4Stepi@f1.cpp:308/direct!", nullptr, 0},
    {"_Z4f9_0PK4Stepi@shared.h:199/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/folded!", nullptr, 0},
};
static const Step w32[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:398/root", nullptr, 1},
    {"_Z5f22_1PK4Stepi@f1.cpp:248/direct!", nullptr, 1},
    {"~_Z4f7_1PK4Stepi@f1.cpp:67/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail!", nullptr, 0},
};
static const Step w33[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:264/root", nullptr, 0},
    {"_ZN5K20_1C2EPK4Stepi@f1.cpp:218+_ZL6in73_2PK4Stepi:207/constructor!", nullptr, 2},
    {"~_Z4f9_0PK4Stepi@shared.h:201/inlined!", nullptr, 2},
    {"_Z4f2_0PK4Stepi@shared.h:143/tail!", nullptr, 0},
};
static const Step w34[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:570/root", static_cast<Base0 *>(&oC0x2), 2},
    {"_ZN4C0x22m0EPK4Stepi@f2.cpp:116/virtual^", nullptr, 1},
};
static const Step w35[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:418/root", nullptr, 2},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:312/constructor!", nullptr, 1},
    {"~_Z4f9_1PK4Stepi@shared.h:221/folded!", nullptr, 2},
    {"_Z4f2_2PK4Stepi@shared.h:159/tail!", nullptr, 0},
};
static const Step w36[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:298/root", nullptr, 5},
};
static const Step w37[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:596/root", nullptr, 3},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w38[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:436/root", static_cast<Side0 *>(&oC0x1), 2},
    {"_ZN4C0x12q1EPK4Stepi@f1.cpp:164/side^", nullptr, 0},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:60/constructor", nullptr, 0},
};
static const Step w39[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:316/root", nullptr, 2},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w40[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:400/root", nullptr, 2},
    {"_Z5f28_1PK4Stepi@f1.cpp:350/direct!", nullptr, 1},
    {"~_Z5f19_2PK4Stepi@shared.h:305/tail-many", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail-many", nullptr, 0},
};
static const Step w41[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:264/root", nullptr, 0},
    {"_ZN5K20_1C2EPK4Stepi@f1.cpp:214/constructor!", nullptr, 0},
    {"_Z8fail10_1PK4Stepi@f1.cpp:91/noreturn!", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:241/folded!", nullptr, 2},
    {"_Z4f2_3PK4Stepi@shared.h:167/tail!", nullptr, 0},
};
static const Step w42[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:568+_ZL7in109_1PK4Stepi:559/root", nullptr, 1},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w43[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:416/root", nullptr, 1},
    {"~_Z4f9_1PK4Stepi@shared.h:221/direct!", nullptr, 2},
    {"_Z4f2_2PK4Stepi@shared.h:159/tail!", nullptr, 0},
};
static const Step w44[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:292/root", nullptr, 2},
    {"_ZL6local8PK4Stepi@f2.cpp:63/direct!", nullptr, 1},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/folded!", nullptr, 0},
};
static const Step w45[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:590+_ZL7in112_0PK4Stepi:583/root", nullptr, 0},
    {"_Z5f26_0PK4Stepi@f0.cpp:444/inlined!", nullptr, 0},
    {"_Z4f9_2PK4Stepi@shared.h:239/folded!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded!", nullptr, 0},
};
static const Step w46[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:442/root", nullptr, 5},
};
static const Step w47[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:314/root", nullptr, 1},
    {"~_Z5f11_0PK4Stepi@f0.cpp:156/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:116/tail!", nullptr, 2},
    {"_Z4f2_1PK4Stepi@shared.h:151/folded!", nullptr, 0},
};
static const Step w48[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:404/root", nullptr, 4},
    {"_Z5f28_0PK4Stepi@f0.cpp:504/direct!", nullptr, 0},
    {"_Z4f2_3PK4Stepi@shared.h:167/folded!", nullptr, 0},
};
static const Step w49[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:272/root", nullptr, 4},
    {"_Z5f12_2PK4Stepi@f2.cpp:104/direct!", nullptr, 0},
    {"~_Z4f7_2PK4Stepi@f2.cpp:51/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail!", nullptr, 0},
};
static const Step w50[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:572/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:338+_ZL6in97_2PK4Stepi:327/direct!", nullptr, 2},
    {"_Z5f22_1PK4Stepi@f1.cpp:248/inlined!", nullptr, 1},
    {"_Z4f7_1PK4Stepi@f1.cpp:65+_ZL6in29_0PK4Stepi:58/folded!", nullptr, 0},
    {"_Z9instance3ILi4EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w51[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:422/root", static_cast<Side1 *>(&oC1x3), 4},
    {"_ZN4C1x32q0EPK4Stepi@f0.cpp:408/side^", nullptr, 0},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/folded", nullptr, 0},
};
static const Step w52[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:294/root", nullptr, 3},
    {"_Z5f22_1PK4Stepi@f1.cpp:250/direct!", static_cast<Base0 *>(&oC0x0), 2},
    {"_ZN4C0x02m1EPK4Stepi@f0.cpp:206+_ZL6in52_0PK4Stepi:199/virtual^", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:112/inlined", nullptr, 0},
    {"_Z7fail4_1PK4Stepi@f1.cpp:34/noreturn", nullptr, 0},
};
static const Step w53[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:596/root", nullptr, 3},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w54[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:438/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:312/constructor!", nullptr, 1},
    {"~_Z4f9_1PK4Stepi@shared.h:221/folded!", nullptr, 2},
    {"_Z4f2_2PK4Stepi@shared.h:159/tail!", nullptr, 0},
};
static const Step w55[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:322/root", nullptr, 5},
};
static const Step w56[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:404/root", nullptr, 4},
    {"_Z5f28_0PK4Stepi@f0.cpp:508/direct!", nullptr, 2},
    {"_Z5f12_1PK4Stepi@f1.cpp:120/folded!", nullptr, 0},
    {"_Z4f7_2PK4Stepi@f2.cpp:53/folded!", nullptr, 2},
};
static const Step w57[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:264/root", nullptr, 0},
    {"_ZN5K20_1C2EPK4Stepi@f1.cpp:214/constructor!", nullptr, 0},
    {"_Z8fail10_1PK4Stepi@f1.cpp:97/noreturn!", nullptr, 3},
};
static const Step w58[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:568+_ZL7in109_1PK4Stepi:559/root", nullptr, 1},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w59[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:414/root", nullptr, 0},
    {"_Z5f17_0PK4Stepi@f0.cpp:282+_ZL6in64_2PK4Stepi:271/direct!", nullptr, 2},
    {"_Z5f12_2PK4Stepi@f2.cpp:104/inlined!", nullptr, 0},
    {"_Z4f7_2PK4Stepi@f2.cpp:53/folded!", nullptr, 2},
};
static const Step w60[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:296/root", nullptr, 4},
    {"_Z5f17_0PK4Stepi@f0.cpp:280/direct!", nullptr, 1},
    {"_ZN4K5_1C2EPK4Stepi@f1.cpp:43/constructor!", nullptr, 0},
};
static const Step w61[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:592/root", nullptr, 1},
    {"_Z8fail10_0PK4Stepi@f0.cpp:132/noreturn", nullptr, 3},
};
static const Step w62[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:440/root", static_cast<Side0 *>(&oC0x3), 4},
    {"_ZN4C0x32q1EPK4Stepi@f0.cpp:260/side^", nullptr, 0},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:60/constructor", nullptr, 0},
};
static const Step w63[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:316/root", nullptr, 2},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w64[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:402/root", nullptr, 3},
    {"_Z5f30_1PK4Stepi@f1.cpp:376/direct!", nullptr, 0},
    {"~_Z5f21_0PK4Stepi@f0.cpp:326/folded!", nullptr, 1},
    {"_Z5f17_1PK4Stepi@f1.cpp:186+_ZL6in65_2PK4Stepi:175/tail!", nullptr, 2},
    {"_Z5f12_2PK4Stepi@f2.cpp:104/inlined!", nullptr, 0},
    {"~_Z4f7_2PK4Stepi@f2.cpp:51/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail!", nullptr, 0},
};
static const Step w65[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:274/root", nullptr, 5},
};
static const Step w66[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:566/root", nullptr, 0},
    {"_Z5f29_0PK4Stepi@f0.cpp:522/direct!", (void *)&t0_1, 2},
    {"_Z4f0_2PK4Stepi@f2.cpp:10/table", nullptr, 0},
};
static const Step w67[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:422/root", static_cast<Side1 *>(&oC1x1), 4},
    {"_ZN4C1x12q0EPK4Stepi@f1.cpp:282/side^", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/folded", nullptr, 0},
};
static const Step w68[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:288/root", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:241/direct!", nullptr, 2},
    {"_Z4f2_3PK4Stepi@shared.h:167/tail!", nullptr, 0},
};
static const Step w69[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:598/root", nullptr, 4},
    {"_ZL7local18PK4Stepi@f0.cpp:294/direct!", static_cast<Base0 *>(&oC0x2), 1},
    {"_ZN4C0x22m1EPK4Stepi@f2.cpp:130+_ZL6in54_0PK4Stepi:123/virtual^", nullptr, 0},
    {"_ZL6local8PK4Stepi@f2.cpp:61/inlined", nullptr, 0},
    {"_Z7fail4_3PK4Stepi@f0.cpp:43/noreturn", nullptr, 0},
};
static const Step w70[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:434/root", nullptr, 1},
    {"~_Z5f11_2PK4Stepi@f2.cpp:90/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f2.cpp:67/tail!", nullptr, 3},
};
static const Step w71[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:320/root", nullptr, 4},
    {"~_Z5f19_2PK4Stepi@shared.h:305/tail-many", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail-many", nullptr, 0},
};
static const Step w72[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:406/root", nullptr, 5},
};
static const Step w73[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:266/root", nullptr, 1},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:60/constructor!", nullptr, 0},
};
static const Step w74[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:568+_ZL7in109_1PK4Stepi:559/root", nullptr, 1},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w75[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:416/root", nullptr, 1},
    {"_Z4f9_1PK4Stepi@shared.h:217+_ZL6in36_0PK4Stepi:210/direct!", nullptr, 0},
    {"~_Z4f7_0PK4Stepi@f0.cpp:84/inlined!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail!", nullptr, 0},
};
static const Step w76[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:290+_ZL7in111_1PK4Stepi:281/root", nullptr, 1},
    {"_Z5f26_0PK4Stepi@f0.cpp:446/inlined!", nullptr, 1},
    {"_ZL6local8PK4Stepi@f0.cpp:118/folded!", nullptr, 3},
};
static const Step w77[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:592/root", nullptr, 1},
    {"_Z8fail10_0PK4Stepi@f0.cpp:130/noreturn", nullptr, 2},
    {"_Z4f9_0PK4Stepi@shared.h:199/folded", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/folded", nullptr, 0},
};
static const Step w78[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:432/root", nullptr, 0},
    {"_Z5f26_0PK4Stepi@f0.cpp:448+_ZL6in92_2PK4Stepi:437/direct!", nullptr, 2},
    {"_Z5f19_2PK4Stepi@shared.h:307+_ZL6in71_3PK4Stepi:294/tail-many", nullptr, 3},
    {"_Z5f17_1PK4Stepi@f1.cpp:188/inlined", nullptr, 3},
};
static const Step w79[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:316/root", nullptr, 2},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w80[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:396+_ZL7in107_0PK4Stepi:389/root", nullptr, 0},
    {"_Z5f12_0PK4Stepi@f0.cpp:170/inlined!", nullptr, 0},
    {"~_Z4f7_3PK4Stepi@f0.cpp:102/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail!", nullptr, 0},
};
static const Step w81[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:270/root", nullptr, 3},
    {"_Z4f9_2PK4Stepi@shared.h:237+_ZL6in37_0PK4Stepi:230/direct!", nullptr, 0},
    {"~_Z4f7_0PK4Stepi@f0.cpp:84/inlined!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail!", nullptr, 0},
};
static const Step w82[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:574/root", nullptr, 4},
    {"_Z5f27_2PK4Stepi@f2.cpp:238/direct!", nullptr, 1},
    {"_Z8fail10_2PK4Stepi@f2.cpp:75/noreturn!", nullptr, 0},
    {"_Z4f9_0PK4Stepi@shared.h:203/folded!", nullptr, 3},
};
static const Step w83[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:420/root", (void *)&t1_2, 3},
    {"_Z5f11_2PK4Stepi@f2.cpp:96/table", nullptr, 3},
};
static const Step w84[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:290+_ZL7in111_1PK4Stepi:281/root", nullptr, 1},
    {"_Z5f26_0PK4Stepi@f0.cpp:444/inlined!", nullptr, 0},
    {"_Z4f9_2PK4Stepi@shared.h:239/folded!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded!", nullptr, 0},
};
static const Step w85[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:598/root", nullptr, 4},
    {"_ZL7local18PK4Stepi@f0.cpp:292/direct!", nullptr, 0},
    {"_Z5f17_0PK4Stepi@f0.cpp:280/folded!", nullptr, 1},
    {"_ZN4K5_1C2EPK4Stepi@f1.cpp:43/constructor!", nullptr, 0},
};
static const Step w86[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:436/root", static_cast<Side0 *>(&oC0x0), 2},
    {"_ZN4C0x02q1EPK4Stepi@f0.cpp:250/side^", nullptr, 1},
    {"_ZN4K5_2C2EPK4Stepi@f2.cpp:35/constructor", nullptr, 0},
};
static const Step w87[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:318/root", nullptr, 3},
    {"_Z5f26_1PK4Stepi@f1.cpp:314/direct!", nullptr, 3},
};
static const Step w88[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:402/root", nullptr, 3},
    {"_Z5f30_1PK4Stepi@f1.cpp:378/direct!", nullptr, 1},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:314+_ZL6in72_2PK4Stepi:303/constructor!", nullptr, 2},
    {"_Z4f9_2PK4Stepi@shared.h:237+_ZL6in37_0PK4Stepi:230/inlined!", nullptr, 0},
    {"_Z4f7_0PK4Stepi@f0.cpp:82+_ZL6in28_0PK4Stepi:75/inlined!", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w89[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:268/root", nullptr, 2},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w90[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:572/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:334+_ZL6in97_0PK4Stepi:321/direct!", nullptr, 0},
    {"~_Z5f21_1PK4Stepi@f1.cpp:230/inlined!", nullptr, 1},
    {"~_Z5f17_0PK4Stepi@f0.cpp:278/tail!", nullptr, 0},
    {"_Z5f11_2PK4Stepi@f2.cpp:94/tail!", nullptr, 2},
    {"_Z8fail10_1PK4Stepi@f1.cpp:93/noreturn!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded!", nullptr, 0},
};
static const Step w91[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:422/root", static_cast<Side1 *>(&oC1x0), 4},
    {"_ZN4C1x02q0EPK4Stepi@f0.cpp:398/side^", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/folded", nullptr, 0},
};
static const Step w92[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:296/root", nullptr, 4},
    {"_Z5f17_0PK4Stepi@f0.cpp:280/direct!", nullptr, 1},
    {"_ZN4K5_1C2EPK4Stepi@f1.cpp:43/constructor!", nullptr, 0},
};
static const Step w93[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:598/root", nullptr, 4},
    {"_ZL7local18PK4Stepi@f0.cpp:294/direct!", static_cast<Base0 *>(&oC0x0), 1},
    {"_ZN4C0x02m1EPK4Stepi@f0.cpp:206+_ZL6in52_0PK4Stepi:199/virtual^", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:118/inlined", nullptr, 3},
};
static const Step w94[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:434/root", nullptr, 1},
    {"_Z5f11_2PK4Stepi@f2.cpp:94/direct!", nullptr, 2},
    {"_Z8fail10_1PK4Stepi@f1.cpp:91/noreturn!", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:241/folded!", nullptr, 2},
    {"_Z4f2_3PK4Stepi@shared.h:167/tail!", nullptr, 0},
};
static const Step w95[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:312+_ZL7in114_0PK4Stepi:305/root", nullptr, 0},
    {"_Z5f30_1PK4Stepi@f1.cpp:376/inlined!", nullptr, 0},
    {"~_Z5f21_0PK4Stepi@f0.cpp:326/folded!", nullptr, 1},
    {"~_Z5f17_1PK4Stepi@f1.cpp:182/tail!", nullptr, 0},
    {"_Z5f11_2PK4Stepi@f2.cpp:96/tail!", nullptr, 3},
};
static const Step w96[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:398/root", nullptr, 1},
    {"_Z5f22_1PK4Stepi@f1.cpp:252+_ZL6in77_3PK4Stepi:239/direct!", nullptr, 3},
    {"_ZL7local18PK4Stepi@f1.cpp:198/inlined!", static_cast<Base0 *>(&oC0x1), 1},
    {"_ZN4C0x12m1EPK4Stepi@f1.cpp:146+_ZL6in53_0PK4Stepi:139/virtual^", nullptr, 0},
    {"_ZL6local8PK4Stepi@f1.cpp:79/inlined", nullptr, 1},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/folded", nullptr, 0},
};
static const Step w97[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:272/root", nullptr, 4},
    {"_Z5f12_2PK4Stepi@f2.cpp:104/direct!", nullptr, 0},
    {"_Z4f7_2PK4Stepi@f2.cpp:49+_ZL6in30_0PK4Stepi:42/folded!", nullptr, 0},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w98[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:570/root", static_cast<Base0 *>(&oC0x0), 2},
    {"_ZN4C0x02m0EPK4Stepi@f0.cpp:180/virtual^", nullptr, 0},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/folded", nullptr, 0},
};
static const Step w99[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:418/root", nullptr, 2},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:310/constructor!", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:130/noreturn!", nullptr, 2},
    {"_Z4f9_0PK4Stepi@shared.h:197+_ZL6in35_0PK4Stepi:190/folded!", nullptr, 0},
    {"_Z4f7_1PK4Stepi@f1.cpp:65+_ZL6in29_0PK4Stepi:58/inlined!", nullptr, 0},
    {"_Z9instance3ILi4EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w100[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:298/root", nullptr, 5},
};
static const Step w101[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:590+_ZL7in112_0PK4Stepi:583/root", nullptr, 0},
    {"_Z5f26_0PK4Stepi@f0.cpp:446/inlined!", nullptr, 1},
    {"_ZL6local8PK4Stepi@f0.cpp:114/folded!", nullptr, 1},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/folded!", nullptr, 0},
};
static const Step w102[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:436/root", static_cast<Side0 *>(&oC0x2), 2},
    {"_ZN4C0x22q1EPK4Stepi@f2.cpp:152/side^", nullptr, 2},
};
static const Step w103[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:314/root", nullptr, 1},
    {"_Z5f11_0PK4Stepi@f0.cpp:160/direct!", nullptr, 2},
    {"_Z8fail10_0PK4Stepi@f0.cpp:128/noreturn!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/folded!", nullptr, 0},
};
static const Step w104[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:400/root", nullptr, 2},
    {"_Z5f28_1PK4Stepi@f1.cpp:352/direct!", nullptr, 2},
    {"_Z5f12_1PK4Stepi@f1.cpp:122/folded!", nullptr, 1},
};
static const Step w105[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:272/root", nullptr, 4},
    {"_Z5f12_2PK4Stepi@f2.cpp:106/direct!", nullptr, 1},
};
static const Step w106[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:574/root", nullptr, 4},
    {"_Z5f27_2PK4Stepi@f2.cpp:236+_ZL6in98_0PK4Stepi:223/direct!", nullptr, 0},
    {"_Z5f21_0PK4Stepi@f0.cpp:324/inlined!", nullptr, 0},
    {"~_Z5f19_0PK4Stepi@shared.h:259/tail-many", (void *)&t1_1, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail-many", nullptr, 0},
};
static const Step w107[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:420/root", (void *)&t1_0, 3},
    {"_Z5f11_0PK4Stepi@f0.cpp:160/table", nullptr, 2},
    {"_Z8fail10_0PK4Stepi@f0.cpp:132/noreturn", nullptr, 3},
};
static const Step w108[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:288/root", nullptr, 0},
    {"~_Z4f9_2PK4Stepi@shared.h:241/direct!", nullptr, 2},
    {"_Z4f2_3PK4Stepi@shared.h:167/tail!", nullptr, 0},
};
static const Step w109[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:590+_ZL7in112_0PK4Stepi:583/root", nullptr, 0},
    {"_Z5f26_0PK4Stepi@f0.cpp:450/inlined!", nullptr, 3},
};
static const Step w110[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:438/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:314+_ZL6in72_2PK4Stepi:303/constructor!", nullptr, 2},
    {"_Z4f9_2PK4Stepi@shared.h:239/inlined!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded!", nullptr, 0},
};
static const Step w111[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:318/root", nullptr, 3},
    {"_Z5f26_1PK4Stepi@f1.cpp:310/direct!", nullptr, 1},
    {"_ZL6local8PK4Stepi@f1.cpp:83/folded!", nullptr, 3},
};
static const Step w112[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:402/root", nullptr, 3},
    {"_Z5f30_1PK4Stepi@f1.cpp:378/direct!", nullptr, 1},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:312/constructor!", nullptr, 1},
    {"_Z4f9_1PK4Stepi@shared.h:217+_ZL6in36_0PK4Stepi:210/folded!", nullptr, 0},
    {"~_Z4f7_0PK4Stepi@f0.cpp:84/inlined!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail!", nullptr, 0},
};
static const Step w113[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:268/root", nullptr, 2},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w114[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:566/root", nullptr, 0},
    {"_Z5f29_0PK4Stepi@f0.cpp:524/direct!", nullptr, 3},
};
static const Step w115[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:414/root", nullptr, 0},
    {"_Z5f17_0PK4Stepi@f0.cpp:282+_ZL6in64_2PK4Stepi:271/direct!", nullptr, 2},
    {"_Z5f12_2PK4Stepi@f2.cpp:104/inlined!", nullptr, 0},
    {"_Z4f7_2PK4Stepi@f2.cpp:49+_ZL6in30_0PK4Stepi:42/folded!", nullptr, 0},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w116[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:292/root", nullptr, 2},
    {"_ZL6local8PK4Stepi@f2.cpp:61/direct!", nullptr, 0},
    {"_Z7fail4_3PK4Stepi@f0.cpp:43/noreturn!", nullptr, 0},
};
static const Step w117[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:594/root", (void *)&t1_1, 2},
    {"_Z5f12_2PK4Stepi@f2.cpp:106/table", nullptr, 1},
};
static const Step w118[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:438/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:310/constructor!", nullptr, 0},
    {"_Z8fail10_0PK4Stepi@f0.cpp:126/noreturn!", nullptr, 0},
    {"_Z4f9_2PK4Stepi@shared.h:243/folded!", nullptr, 3},
};
static const Step w119[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:320/root", nullptr, 4},
    {"_Z5f19_2PK4Stepi@shared.h:301/tail-many", nullptr, 0},
    {"_Z8fail10_3PK4Stepi@f0.cpp:143/noreturn", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded", nullptr, 0},
};
static const Step w120[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:396+_ZL7in107_0PK4Stepi:389/root", nullptr, 0},
    {"_Z5f12_0PK4Stepi@f0.cpp:170/inlined!", nullptr, 0},
    {"_Z4f7_3PK4Stepi@f0.cpp:100+_ZL6in31_0PK4Stepi:93/folded!", nullptr, 0},
    {"_Z9instance3ILi4EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w121[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:266/root", nullptr, 1},
    {"_ZN4K5_3C2EPK4Stepi@f0.cpp:60/constructor!", nullptr, 0},
};
static const Step w122[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:572/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:338+_ZL6in97_2PK4Stepi:327/direct!", nullptr, 2},
    {"~_Z5f22_1PK4Stepi@f1.cpp:246/inlined!", nullptr, 0},
    {"_Z5f21_1PK4Stepi@f1.cpp:232/tail!", nullptr, 2},
};
static const Step w123[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:416/root", nullptr, 1},
    {"_Z4f9_1PK4Stepi@shared.h:219/direct!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/folded!", nullptr, 0},
};
static const Step w124[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:294/root", nullptr, 3},
    {"_Z5f22_1PK4Stepi@f1.cpp:252+_ZL6in77_3PK4Stepi:239/direct!", nullptr, 3},
    {"_ZL7local18PK4Stepi@f1.cpp:196/inlined!", nullptr, 0},
    {"_Z5f17_0PK4Stepi@f0.cpp:284/folded!", nullptr, 3},
};
static const Step w125[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:596/root", nullptr, 3},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w126[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:434/root", nullptr, 1},
    {"~_Z5f11_2PK4Stepi@f2.cpp:90/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f2.cpp:65/tail!", nullptr, 2},
    {"_Z4f2_2PK4Stepi@shared.h:159/folded!", nullptr, 0},
};
static const Step w127[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:314/root", nullptr, 1},
    {"~_Z5f11_0PK4Stepi@f0.cpp:156/direct!", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:116/tail!", nullptr, 2},
    {"_Z4f2_1PK4Stepi@shared.h:151/folded!", nullptr, 0},
};
static const Step w128[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:400/root", nullptr, 2},
    {"_Z5f28_1PK4Stepi@f1.cpp:352/direct!", nullptr, 2},
    {"_Z5f12_1PK4Stepi@f1.cpp:120/folded!", nullptr, 0},
    {"_Z4f7_2PK4Stepi@f2.cpp:49+_ZL6in30_0PK4Stepi:42/folded!", nullptr, 0},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w129[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:270/root", nullptr, 3},
    {"_Z4f9_2PK4Stepi@shared.h:239/direct!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded!", nullptr, 0},
};
static const Step w130[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:568+_ZL7in109_1PK4Stepi:559/root", nullptr, 1},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w131[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:424/root", nullptr, 5},
};
static const Step w132[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:292/root", nullptr, 2},
    {"_ZL6local8PK4Stepi@f2.cpp:63/direct!", nullptr, 1},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/folded!", nullptr, 0},
};
static const Step w133[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:592/root", nullptr, 1},
    {"_Z8fail10_0PK4Stepi@f0.cpp:130/noreturn", nullptr, 2},
    {"_Z4f9_0PK4Stepi@shared.h:197+_ZL6in35_0PK4Stepi:190/folded", nullptr, 0},
    {"~_Z4f7_1PK4Stepi@f1.cpp:67/inlined", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail", nullptr, 0},
};
static const Step w134[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:434/root", nullptr, 1},
    {"~_Z5f11_2PK4Stepi@f2.cpp:92/direct!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail!", nullptr, 0},
};
static const Step w135[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:320/root", nullptr, 4},
    {"_Z5f19_2PK4Stepi@shared.h:307+_ZL6in71_3PK4Stepi:294/tail-many", nullptr, 3},
    {"_Z5f17_1PK4Stepi@f1.cpp:186+_ZL6in65_2PK4Stepi:175/inlined", nullptr, 2},
    {"_Z5f12_2PK4Stepi@f2.cpp:106/inlined", nullptr, 1},
};
static const Step w136[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:402/root", nullptr, 3},
    {"_Z5f30_1PK4Stepi@f1.cpp:380/direct!", nullptr, 2},
    {"_Z5f28_1PK4Stepi@f1.cpp:354/folded!", nullptr, 3},
};
static const Step w137[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:264/root", nullptr, 0},
    {"_ZN5K20_1C2EPK4Stepi@f1.cpp:216/constructor!", nullptr, 1},
    {"_Z4f9_1PK4Stepi@shared.h:217+_ZL6in36_0PK4Stepi:210/folded!", nullptr, 0},
    {"_Z4f7_0PK4Stepi@f0.cpp:82+_ZL6in28_0PK4Stepi:75/inlined!", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w138[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:574/root", nullptr, 4},
    {"_Z5f27_2PK4Stepi@f2.cpp:240+_ZL6in98_2PK4Stepi:229/direct!", nullptr, 2},
    {"_Z5f22_0PK4Stepi@f0.cpp:344/inlined!", nullptr, 1},
    {"_Z4f7_2PK4Stepi@f2.cpp:49+_ZL6in30_0PK4Stepi:42/folded!", nullptr, 0},
    {"_Z9instance3ILi3EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w139[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:424/root", nullptr, 5},
};
static const Step w140[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:294/root", nullptr, 3},
    {"_Z5f22_1PK4Stepi@f1.cpp:250/direct!", static_cast<Base0 *>(&oC0x0), 2},
    {"_ZN4C0x02m1EPK4Stepi@f0.cpp:206+_ZL6in52_0PK4Stepi:199/virtual^", nullptr, 0},
    {"_ZL6local8PK4Stepi@f0.cpp:112/inlined", nullptr, 0},
    {"_Z7fail4_1PK4Stepi@f1.cpp:34/noreturn", nullptr, 0},
};
static const Step w141[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:596/root", nullptr, 3},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w142[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:438/root", nullptr, 3},
    {"_ZN5K20_0C2EPK4Stepi@f0.cpp:314+_ZL6in72_2PK4Stepi:303/constructor!", nullptr, 2},
    {"_Z4f9_2PK4Stepi@shared.h:237+_ZL6in37_0PK4Stepi:230/inlined!", nullptr, 0},
    {"~_Z4f7_0PK4Stepi@f0.cpp:84/inlined!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail!", nullptr, 0},
};
static const Step w143[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:316/root", nullptr, 2},
    {"_Z9instance3ILi2EEiPK4Stepi@shared.h:183/direct!", nullptr, 0},
};
static const Step w144[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:396+_ZL7in107_0PK4Stepi:389/root", nullptr, 0},
    {"_Z5f12_0PK4Stepi@f0.cpp:170/inlined!", nullptr, 0},
    {"~_Z4f7_3PK4Stepi@f0.cpp:102/folded!", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail!", nullptr, 0},
};
static const Step w145[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:274/root", nullptr, 5},
};
static const Step w146[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:570/root", static_cast<Base0 *>(&oC0x2), 2},
    {"_ZN4C0x22m0EPK4Stepi@f2.cpp:114/virtual^", nullptr, 0},
    {"_Z4f0_1PK4Stepi@f1.cpp:10/folded", nullptr, 0},
};
static const Step w147[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:420/root", (void *)&t1_1, 3},
    {"~_Z5f11_1PK4Stepi@f1.cpp:108/table", nullptr, 1},
    {"_Z4f6_0PK4Stepi@f0.cpp:68/tail", nullptr, 0},
};
static const Step w148[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:290+_ZL7in111_1PK4Stepi:281/root", nullptr, 1},
    {"_Z5f26_0PK4Stepi@f0.cpp:446/inlined!", nullptr, 1},
    {"_ZL6local8PK4Stepi@f0.cpp:114/folded!", nullptr, 1},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/folded!", nullptr, 0},
};
static const Step w149[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:598/root", nullptr, 4},
    {"_ZL7local18PK4Stepi@f0.cpp:292/direct!", nullptr, 0},
    {"~_Z5f17_0PK4Stepi@f0.cpp:278/folded!", nullptr, 0},
    {"_Z5f11_2PK4Stepi@f2.cpp:94/tail!", nullptr, 2},
    {"_Z8fail10_1PK4Stepi@f1.cpp:95/noreturn!", nullptr, 2},
    {"_Z4f9_1PK4Stepi@shared.h:217+_ZL6in36_0PK4Stepi:210/folded!", nullptr, 0},
    {"_Z4f7_0PK4Stepi@f0.cpp:82+_ZL6in28_0PK4Stepi:75/inlined!", nullptr, 0},
    {"_Z9instance3ILi0EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w150[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:440/root", static_cast<Side0 *>(&oC0x1), 4},
    {"_ZN4C0x12q1EPK4Stepi@f1.cpp:166/side^", nullptr, 1},
    {"_ZN4K5_0C2EPK4Stepi@f0.cpp:52/constructor", nullptr, 0},
};
static const Step w151[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:318/root", nullptr, 3},
    {"_Z5f26_1PK4Stepi@f1.cpp:310/direct!", nullptr, 1},
    {"_ZL6local8PK4Stepi@f1.cpp:81/folded!", nullptr, 2},
    {"_Z4f2_1PK4Stepi@shared.h:151/folded!", nullptr, 0},
};
static const Step w152[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f31_0PK4Stepi@f1.cpp:396+_ZL7in107_0PK4Stepi:389/root", nullptr, 0},
    {"_Z5f12_0PK4Stepi@f0.cpp:170/inlined!", nullptr, 0},
    {"_Z4f7_3PK4Stepi@f0.cpp:100+_ZL6in31_0PK4Stepi:93/folded!", nullptr, 0},
    {"_Z9instance3ILi4EEiPK4Stepi@shared.h:183/inlined!", nullptr, 0},
};
static const Step w153[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f32_0PK4Stepi@f2.cpp:270/root", nullptr, 3},
    {"~_Z4f9_2PK4Stepi@shared.h:241/direct!", nullptr, 2},
    {"_Z4f2_3PK4Stepi@shared.h:167/tail!", nullptr, 0},
};
static const Step w154[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f33_0PK4Stepi@f0.cpp:572/root", nullptr, 3},
    {"_Z5f27_1PK4Stepi@f1.cpp:336/direct!", nullptr, 1},
    {"_Z8fail10_3PK4Stepi@f0.cpp:143/noreturn!", nullptr, 1},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/folded!", nullptr, 0},
};
static const Step w155[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f34_0PK4Stepi@f1.cpp:422/root", static_cast<Side1 *>(&oC1x3), 4},
    {"_ZN4C1x32q0EPK4Stepi@f0.cpp:410/side^", nullptr, 1},
};
static const Step w156[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f35_0PK4Stepi@f2.cpp:288/root", nullptr, 0},
    {"_Z4f9_2PK4Stepi@shared.h:243/direct!", nullptr, 3},
};
static const Step w157[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f36_0PK4Stepi@f0.cpp:590+_ZL7in112_0PK4Stepi:583/root", nullptr, 0},
    {"_Z5f26_0PK4Stepi@f0.cpp:448+_ZL6in92_2PK4Stepi:437/inlined!", nullptr, 2},
    {"~_Z5f19_2PK4Stepi@shared.h:305/tail-many", nullptr, 2},
    {"_Z4f6_1PK4Stepi@f1.cpp:51/tail-many", nullptr, 0},
};
static const Step w158[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f37_0PK4Stepi@f1.cpp:432/root", nullptr, 0},
    {"_Z5f26_0PK4Stepi@f0.cpp:446/direct!", nullptr, 1},
    {"_ZL6local8PK4Stepi@f0.cpp:112/folded!", nullptr, 0},
    {"_Z7fail4_1PK4Stepi@f1.cpp:34/noreturn!", nullptr, 0},
};
static const Step w159[] = {
    {"run@runtime.cpp:0/root!", nullptr, 0},
    {"_Z5f38_0PK4Stepi@f2.cpp:314/root", nullptr, 1},
    {"_Z5f11_0PK4Stepi@f0.cpp:162/direct!", nullptr, 3},
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
