// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cstdint>
#include <cstdio>
#include <limits>

#include "passes/analysis.h"
#include "passes/text.h"
#include "passes/transforms.h"

using namespace tir;

namespace {

struct Sample {
  const char *Title;
  const char *Text;
  std::size_t Expected;  // instructions left after cse, fold and dce
};

const Sample Samples[] = {
    {"commuted operands",
     "func @f(%a, %b) {\nentry:\n  %x = add %a, %b\n  %y = add %b, %a\n"
     "  %z = mul %x, %y\n  ret %z\n}\n",
     3},
    {"siblings do not dominate",
     "func @f(%a, %b) {\nentry:\n  condbr %a, l, r\nl:\n  %x = sub %a, %b\n"
     "  emit %x\n  br out\nr:\n  %y = sub %a, %b\n  ret %y\nout:\n  ret 0\n}\n",
     7},
    {"dominating block",
     "func @f(%a, %b) {\nentry:\n  %x = xor %a, %b\n  emit %x\n"
     "  condbr %a, l, r\nl:\n  %y = xor %a, %b\n  ret %y\nr:\n  ret %b\n}\n",
     5},
    {"identities",
     "func @f(%a, %b) {\nentry:\n  %x = add 0, %a\n  %y = mul %x, 1\n"
     "  %z = sub %b, %b\n  %w = add %y, %z\n  ret %w\n}\n",
     1},
};

bool check(const Sample &S) {
  Diagnostic Diag;
  auto M = parseModule(S.Text, Diag);
  if (!M) {
    std::fprintf(stderr, "%s: line %u: %s\n", S.Title, Diag.Line, Diag.Message.c_str());
    return false;
  }
  Function &F = *M->find("f");
  const Execution Before = interpret(F, {6, 35});
  FunctionPassManager FPM;
  for (const char *Name : {"cse", "fold", "dce"})
    if (!FPM.addByName(Name))
      return false;
  AnalysisManager AM;
  FPM.runToFixpoint(F, AM);
  const bool Ok = F.instructionCount() == S.Expected && verify(F, AM).empty() &&
                  interpret(F, {6, 35}) == Before;
  if (!Ok)
    std::fprintf(stderr, "%s: unexpected result\n%s", S.Title, print(F).c_str());
  return Ok;
}

}  // namespace

int main() {
  int Failures = 0;
  for (const Sample &S : Samples)
    Failures += !check(S);

  constexpr auto Lowest = std::numeric_limits<std::int64_t>::min();
  if (evaluateBinary(Opcode::Div, Lowest, -1) != Lowest)
    ++Failures;
  if (Failures == 0)
    std::puts("test_cse: ok");
  return Failures ? 1 : 0;
}
