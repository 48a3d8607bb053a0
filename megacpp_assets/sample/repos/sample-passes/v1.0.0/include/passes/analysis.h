// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef PASSES_ANALYSIS_H
#define PASSES_ANALYSIS_H

#include <string>
#include <unordered_map>

#include "passes/pass_manager.h"

namespace tir {

/// Reverse post-order of the reachable blocks, and their predecessors.
struct CfgInfo {
  std::vector<BasicBlock *> Order;
  std::unordered_map<const BasicBlock *, std::vector<BasicBlock *>> Preds;
  std::unordered_map<const BasicBlock *, unsigned> Index;

  bool reachable(const BasicBlock *BB) const { return Index.count(BB) != 0; }
  const std::vector<BasicBlock *> &preds(const BasicBlock *BB) const;
};

struct CfgAnalysis : AnalysisInfoMixin<CfgAnalysis> {
  static constexpr std::string_view PassName = "cfg";
  static const AnalysisKey Key;
  using Result = CfgInfo;
  Result run(Function &F, AnalysisManager &AM);
};

/// Immediate dominators over the reachable blocks.
class DominatorTree {
public:
  explicit DominatorTree(const CfgInfo &Cfg);

  const BasicBlock *idom(const BasicBlock *BB) const;
  bool dominates(const BasicBlock *A, const BasicBlock *B) const;
  /// Whether `Def` is computed on every path that reaches `Use`.
  bool dominates(const Instruction *Def, const Instruction *Use) const;

private:
  unsigned intersect(unsigned A, unsigned B) const;

  std::vector<const BasicBlock *> Order;
  std::unordered_map<const BasicBlock *, unsigned> Index;
  std::vector<unsigned> Idom;
};

struct DominatorAnalysis : AnalysisInfoMixin<DominatorAnalysis> {
  static constexpr std::string_view PassName = "domtree";
  static const AnalysisKey Key;
  using Result = DominatorTree;
  Result run(Function &F, AnalysisManager &AM);
};

/// Checks SSA form: definitions dominate uses and phis match the CFG.
/// Returns an empty string when the function is well formed.
std::string verify(Function &F, AnalysisManager &AM);

}  // namespace tir

#endif  // PASSES_ANALYSIS_H
