// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "passes/analysis.h"
#include "passes/transforms.h"

namespace tir {
namespace {

/// Tells the phis of `BB` that control no longer arrives from `Pred`.
void removePredecessor(BasicBlock &BB, const BasicBlock *Pred) {
  for (auto &I : BB.instructions()) {
    if (!I->isPhi())
      break;
    I->removeIncoming(Pred);
  }
}

void renamePredecessor(BasicBlock &BB, BasicBlock *Old, BasicBlock *New) {
  for (auto &I : BB.instructions()) {
    if (!I->isPhi())
      break;
    I->replaceBlock(Old, New);
  }
}

/// Single-entry phis are copies; forward them before merging blocks.
void forwardTrivialPhis(BasicBlock &BB) {
  auto &Insts = BB.instructions();
  while (!Insts.empty() && Insts.front()->isPhi()) {
    Instruction &Phi = *Insts.front();
    assert(Phi.operands().size() == 1 && "block has more than one predecessor");
    Phi.replaceAllUsesWith(Phi.operand(0));
    BB.erase(Insts.begin());
  }
}

}  // namespace

bool SimplifyCfgPass::narrowBranches(Function &F) {
  bool Changed = false;
  for (const auto &BB : F.blocks()) {
    Instruction *Term = BB->terminator();
    if (!Term || Term->opcode() != Opcode::CondBr)
      continue;
    BasicBlock *Then = Term->blocks()[0];
    BasicBlock *Else = Term->blocks()[1];
    if (Then == Else)
      continue;  // a phi in the target still needs both edges
    const auto *Cond = dyn_cast<ConstantInt>(Term->operand(0));
    if (!Cond)
      continue;
    BasicBlock *Taken = Cond->value() ? Then : Else;
    removePredecessor(Taken == Then ? *Else : *Then, BB.get());
    Term->becomeBr(Taken);
    Changed = true;
  }
  return Changed;
}

bool SimplifyCfgPass::removeUnreachable(Function &F, const CfgInfo &Cfg) {
  std::vector<BasicBlock *> Dead;
  for (const auto &BB : F.blocks())
    if (!Cfg.reachable(BB.get()))
      Dead.push_back(BB.get());
  // Dead blocks can use each other's values, so unlink all of them first.
  for (BasicBlock *BB : Dead) {
    for (BasicBlock *Succ : BB->successors())
      removePredecessor(*Succ, BB);
    for (auto &I : BB->instructions())
      I->dropOperands();
  }
  for (BasicBlock *BB : Dead)
    F.eraseBlock(BB);
  return !Dead.empty();
}

bool SimplifyCfgPass::mergeChains(Function &F) {
  for (const auto &BB : F.blocks()) {
    Instruction *Term = BB->terminator();
    if (!Term || Term->opcode() != Opcode::Br)
      continue;
    BasicBlock *Next = Term->blocks()[0];
    if (Next == BB.get() || Next == F.entry())
      continue;
    unsigned Edges = 0;
    for (const auto &Other : F.blocks())
      for (const BasicBlock *Succ : Other->successors())
        Edges += Succ == Next;
    if (Edges != 1)
      continue;
    forwardTrivialPhis(*Next);
    BB->instructions().pop_back();
    BB->spliceFrom(*Next);
    for (BasicBlock *Succ : BB->successors())
      renamePredecessor(*Succ, Next, BB.get());
    F.eraseBlock(Next);
    return true;
  }
  return false;
}

PreservedAnalyses SimplifyCfgPass::run(Function &F, AnalysisManager &AM) {
  bool Changed = narrowBranches(F);
  if (Changed)
    AM.invalidate(F, PreservedAnalyses::none());
  Changed |= removeUnreachable(F, AM.get<CfgAnalysis>(F));
  while (mergeChains(F))
    Changed = true;
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace tir
