// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "passes/analysis.h"

#include <algorithm>
#include <unordered_set>

#include "passes/text.h"
#include "passes/transforms.h"

namespace tir {

const AnalysisKey CfgAnalysis::Key{};
const AnalysisKey DominatorAnalysis::Key{};

namespace {

void postOrder(BasicBlock *BB, std::unordered_set<const BasicBlock *> &Seen,
               std::vector<BasicBlock *> &Out) {
  if (!Seen.insert(BB).second)
    return;
  for (BasicBlock *Succ : BB->successors())
    postOrder(Succ, Seen, Out);
  Out.push_back(BB);
}

}  // namespace

const std::vector<BasicBlock *> &CfgInfo::preds(const BasicBlock *BB) const {
  static const std::vector<BasicBlock *> None;
  auto It = Preds.find(BB);
  return It == Preds.end() ? None : It->second;
}

CfgInfo CfgAnalysis::run(Function &F, AnalysisManager &) {
  CfgInfo Info;
  std::unordered_set<const BasicBlock *> Seen;
  if (F.entry())
    postOrder(F.entry(), Seen, Info.Order);
  std::reverse(Info.Order.begin(), Info.Order.end());
  for (BasicBlock *BB : Info.Order) {
    Info.Index.emplace(BB, static_cast<unsigned>(Info.Index.size()));
    for (BasicBlock *Succ : BB->successors())
      Info.Preds[Succ].push_back(BB);
  }
  return Info;
}

DominatorTree::DominatorTree(const CfgInfo &Cfg)
    : Order(Cfg.Order.begin(), Cfg.Order.end()), Index(Cfg.Index) {
  // Cooper, Harvey and Kennedy's iterative scheme over reverse post-order.
  constexpr unsigned Undefined = ~0u;
  Idom.assign(Order.size(), Undefined);
  if (Order.empty())
    return;
  Idom[0] = 0;
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (unsigned B = 1; B < Order.size(); ++B) {
      unsigned New = Undefined;
      for (const BasicBlock *Pred : Cfg.preds(Order[B])) {
        const unsigned P = Index.at(Pred);
        if (Idom[P] == Undefined)
          continue;
        New = New == Undefined ? P : intersect(P, New);
      }
      if (New != Idom[B]) {
        Idom[B] = New;
        Changed = true;
      }
    }
  }
}

unsigned DominatorTree::intersect(unsigned A, unsigned B) const {
  while (A != B) {
    while (A > B)
      A = Idom[A];
    while (B > A)
      B = Idom[B];
  }
  return A;
}

const BasicBlock *DominatorTree::idom(const BasicBlock *BB) const {
  auto It = Index.find(BB);
  if (It == Index.end() || It->second == 0)
    return nullptr;
  return Order[Idom[It->second]];
}

bool DominatorTree::dominates(const BasicBlock *A, const BasicBlock *B) const {
  for (; B; B = idom(B))
    if (A == B)
      return true;
  return false;
}

bool DominatorTree::dominates(const Instruction *Def, const Instruction *Use) const {
  if (Def->parent() != Use->parent())
    return dominates(Def->parent(), Use->parent());
  for (const auto &I : Def->parent()->instructions()) {
    if (I.get() == Use)
      return false;
    if (I.get() == Def)
      return true;
  }
  return false;
}

DominatorTree DominatorAnalysis::run(Function &F, AnalysisManager &AM) {
  return DominatorTree(AM.get<CfgAnalysis>(F));
}

std::string verify(Function &F, AnalysisManager &AM) {
  const CfgInfo &Cfg = AM.get<CfgAnalysis>(F);
  const DominatorTree &DT = AM.get<DominatorAnalysis>(F);
  for (const BasicBlock *BB : Cfg.Order) {
    for (const auto &I : BB->instructions()) {
      if (I->isTerminator() != (I.get() == BB->instructions().back().get()))
        return "misplaced terminator: " + print(*I);
      if (I->isPhi() && I->blocks().size() != Cfg.preds(BB).size())
        return "phi does not match predecessors: " + print(*I);
      for (std::size_t N = 0; N < I->operands().size(); ++N) {
        const auto *Def = dyn_cast<Instruction>(I->operand(N));
        if (!Def)
          continue;
        const bool Ok = I->isPhi() ? DT.dominates(Def->parent(), I->blocks()[N])
                                   : DT.dominates(Def, I.get());
        if (!Ok)
          return "definition does not dominate use: " + print(*I);
      }
    }
  }
  return {};
}

void AnalysisManager::invalidate(const Function &F, const PreservedAnalyses &PA) {
  if (PA.allPreserved())
    return;
  for (auto It = Cache.begin(); It != Cache.end();) {
    const bool Stale = It->first.first == &F && !PA.preserves(It->first.second);
    It = Stale ? Cache.erase(It) : std::next(It);
  }
}

bool FunctionPassManager::addByName(std::string_view Name) {
#define TIR_PASS(PassT)         \
  if (Name == PassT::name()) {  \
    add(PassT());               \
    return true;                \
  }
  TIR_FOR_EACH_PASS(TIR_PASS)
#undef TIR_PASS
  return false;
}

bool FunctionPassManager::run(Function &F, AnalysisManager &AM) {
  bool Changed = false;
  for (auto &P : Passes) {
    const PreservedAnalyses PA = P->run(F, AM);
    AM.invalidate(F, PA);
    Changed |= !PA.allPreserved();
    if (Notify)
      Notify(P->name(), F, !PA.allPreserved());
#ifdef TIR_VERIFY_EACH
    assert(verify(F, AM).empty() && "pass broke the function");
#endif
  }
  return Changed;
}

unsigned FunctionPassManager::runToFixpoint(Function &F, AnalysisManager &AM,
                                            unsigned Limit) {
  unsigned Rounds = 0;
  while (Rounds < Limit && run(F, AM))
    ++Rounds;
  return Rounds;
}

}  // namespace tir
