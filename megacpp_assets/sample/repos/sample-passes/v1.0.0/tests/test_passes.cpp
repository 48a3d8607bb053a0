// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cstdio>

#include "passes/analysis.h"
#include "passes/builder.h"
#include "passes/text.h"
#include "passes/transforms.h"

using namespace tir;

static int Failures = 0;

#define CHECK(cond)                                                      \
  do {                                                                   \
    if (!(cond)) {                                                       \
      std::fprintf(stderr, "line %d: failed: %s\n", __LINE__, #cond);    \
      ++Failures;                                                        \
    }                                                                    \
  } while (0)

namespace {

constexpr const char *Triangle = R"(
; sum of 0..n-1, with some rubbish to clean up
func @triangle(%n) {
entry:
  %zero = sub 7, 7
  %waste = mul %n, 3
  br head
head:
  %i = phi [%zero, entry], [%i.next, body]
  %acc = phi [0, entry], [%acc.next, body]
  %dead = phi [1, entry], [%dead.next, body]
  %go = lt %i, %n
  condbr %go, body, exit
body:
  %acc.next = add %acc, %i
  %dead.next = mul %dead, 2
  %one = eq 4, 4
  %i.next = add %i, %one
  br head
exit:
  emit %acc
  ret %acc
}
)";

std::unique_ptr<Module> parseOrDie(const char *Text) {
  Diagnostic Diag;
  auto M = parseModule(Text, Diag);
  if (!M)
    std::fprintf(stderr, "parse error, line %u: %s\n", Diag.Line, Diag.Message.c_str());
  return M;
}

FunctionPassManager defaultPipeline() {
  FunctionPassManager FPM;
  FPM.add(ConstantFoldingPass());
  FPM.add(DeadCodePass());
  FPM.add(SimplifyCfgPass());
  return FPM;
}

void testRoundTrip() {
  auto M = parseOrDie(Triangle);
  CHECK(M != nullptr);
  if (!M)
    return;
  const std::string Once = print(*M);
  auto Again = parseOrDie(Once.c_str());
  CHECK(Again && print(*Again) == Once);
}

void testPipelineKeepsMeaning() {
  auto M = parseOrDie(Triangle);
  Function &F = *M->find("triangle");
  AnalysisManager AM;
  CHECK(verify(F, AM).empty());
  const std::size_t Before = F.instructionCount();
  const Execution Expected = interpret(F, {10});
  CHECK(Expected.Value == 45 && Expected.Emitted.size() == 1);

  FunctionPassManager FPM = defaultPipeline();
  CHECK(FPM.runToFixpoint(F, AM) >= 1);
  CHECK(verify(F, AM).empty());
  CHECK(F.instructionCount() == Before - 5);
  CHECK(interpret(F, {10}) == Expected);
  CHECK(!FPM.run(F, AM));
}

void testConstantBranchCollapses() {
  Module M;
  Function *F = M.addFunction("pick");
  BasicBlock *Entry = F->addBlock("entry");
  BasicBlock *Yes = F->addBlock("yes");
  BasicBlock *No = F->addBlock("no");
  BasicBlock *Join = F->addBlock("join");
  Builder B(Entry);
  Value *Cond = B.createCmpLt(B.constant(1), B.constant(2), "c");
  B.createCondBr(Cond, Yes, No);
  B.setInsertPoint(Yes);
  B.createBr(Join);
  B.setInsertPoint(No);
  B.createBr(Join);
  B.setInsertPoint(Join);
  Instruction *Phi = B.createPhi("r");
  Phi->addIncoming(B.constant(42), Yes);
  Phi->addIncoming(B.constant(-1), No);
  B.createRet(Phi);

  AnalysisManager AM;
  defaultPipeline().runToFixpoint(*F, AM);
  CHECK(F->blocks().size() == 1);
  CHECK(print(*F) == "func @pick() {\nentry:\n  ret 42\n}\n");
}

void testTrapsSurvive() {
  auto M = parseOrDie("func @f(%x) {\nentry:\n  %q = div %x, 0\n  ret 1\n}\n");
  Function &F = *M->find("f");
  AnalysisManager AM;
  defaultPipeline().runToFixpoint(F, AM);
  CHECK(F.instructionCount() == 2);
  CHECK(interpret(F, {3}).Result == Execution::Status::Trapped);
}

void testAnalysisCaching() {
  auto M = parseOrDie(Triangle);
  Function &F = *M->find("triangle");
  AnalysisManager AM;
  const DominatorTree &DT = AM.get<DominatorAnalysis>(F);
  CHECK(AM.computedCount() == 2);  // the tree pulls in the CFG
  const BasicBlock *Head = F.blocks()[1].get();
  CHECK(DT.idom(Head) == F.entry());
  CHECK(DT.dominates(Head, F.blocks().back().get()));
  ConstantFoldingPass Fold;
  AM.invalidate(F, Fold.run(F, AM));
  AM.get<CfgAnalysis>(F);
  CHECK(AM.computedCount() == 2);
}

void testDiagnostics() {
  struct Case {
    const char *Text;
    unsigned Line;
    const char *Message;
  };
  const Case Cases[] = {
      {"func @f() {\nentry:\n  ret %x\n}\n", 3, "use of undefined value %x"},
      {"func @f() {\nentry:\n  frob 1\n}\n", 3, "unknown opcode 'frob'"},
      {"func @f() {\nentry:\n  br away\n}\n", 4, "block away is never defined"},
      {"func @f(%a, %a) {\n", 1, "redefinition of %a"},
  };
  for (const Case &C : Cases) {
    Diagnostic Diag;
    CHECK(parseModule(C.Text, Diag) == nullptr);
    CHECK(Diag.Message == C.Message);
    CHECK(Diag.Line == C.Line || Diag.Line == C.Line + 1);
  }
}

}  // namespace

int main() {
  testRoundTrip();
  testPipelineKeepsMeaning();
  testConstantBranchCollapses();
  testTrapsSurvive();
  testAnalysisCaching();
  testDiagnostics();
  if (Failures == 0)
    std::puts("test_passes: ok");
  return Failures ? 1 : 0;
}
