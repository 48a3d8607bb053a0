// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef PASSES_PASS_MANAGER_H
#define PASSES_PASS_MANAGER_H

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/ir.h"

namespace tir {

/// Address identity for an analysis; each one declares a static `Key`.
struct AnalysisKey {};

/// What a pass reports about the analyses computed before it ran.
class PreservedAnalyses {
public:
  static PreservedAnalyses all() { return PreservedAnalyses(true); }
  static PreservedAnalyses none() { return PreservedAnalyses(false); }

  template <typename AnalysisT>
  PreservedAnalyses &preserve() {
    Kept.push_back(&AnalysisT::Key);
    return *this;
  }

  bool allPreserved() const { return All; }
  bool preserves(const AnalysisKey *K) const {
    if (All)
      return true;
    for (const AnalysisKey *Each : Kept)
      if (Each == K)
        return true;
    return false;
  }

private:
  explicit PreservedAnalyses(bool All) : All(All) {}
  bool All;
  std::vector<const AnalysisKey *> Kept;
};

/// CRTP base that gives every pass its name; `Derived` supplies `PassName`.
template <typename Derived>
struct PassInfoMixin {
  static constexpr std::string_view name() { return Derived::PassName; }
};

/// Same for analyses, which also need an identity.
template <typename Derived>
struct AnalysisInfoMixin : PassInfoMixin<Derived> {
  static const AnalysisKey *id() { return &Derived::Key; }
};

/// Computes analyses on demand and caches them per function.
class AnalysisManager {
public:
  template <typename AnalysisT>
  typename AnalysisT::Result &get(Function &F) {
    const CacheKey K{&F, AnalysisT::id()};
    auto It = Cache.find(K);
    if (It == Cache.end()) {
      // Running the analysis may itself request others, so insert afterwards.
      auto Model = std::make_unique<ResultModel<typename AnalysisT::Result>>(
          AnalysisT().run(F, *this));
      It = Cache.emplace(K, std::move(Model)).first;
      ++Computed;
    }
    return static_cast<ResultModel<typename AnalysisT::Result> &>(*It->second).Value;
  }

  void invalidate(const Function &F, const PreservedAnalyses &PA);
  unsigned computedCount() const { return Computed; }

private:
  struct ResultConcept {
    virtual ~ResultConcept() = default;
  };
  template <typename T>
  struct ResultModel final : ResultConcept {
    explicit ResultModel(T V) : Value(std::move(V)) {}
    T Value;
  };
  using CacheKey = std::pair<const Function *, const AnalysisKey *>;

  std::map<CacheKey, std::unique_ptr<ResultConcept>> Cache;
  unsigned Computed = 0;
};

/// Runs a sequence of type-erased function passes.
class FunctionPassManager {
public:
  using Observer = std::function<void(std::string_view Pass, const Function &, bool Changed)>;

  template <typename PassT>
  void add(PassT Pass) {
    Passes.push_back(std::make_unique<PassModel<PassT>>(std::move(Pass)));
  }

  /// Adds a pass by its textual name; false when there is no such pass.
  bool addByName(std::string_view Name);

  void setObserver(Observer O) { Notify = std::move(O); }
  bool empty() const { return Passes.empty(); }

  /// Runs each pass once. Returns true when any of them changed `F`.
  bool run(Function &F, AnalysisManager &AM);

  /// Repeats the pipeline until nothing changes, at most `Limit` times.
  unsigned runToFixpoint(Function &F, AnalysisManager &AM, unsigned Limit = 8);

private:
  struct PassConcept {
    virtual ~PassConcept() = default;
    virtual PreservedAnalyses run(Function &F, AnalysisManager &AM) = 0;
    virtual std::string_view name() const = 0;
  };
  template <typename PassT>
  struct PassModel final : PassConcept {
    explicit PassModel(PassT P) : Pass(std::move(P)) {}
    PreservedAnalyses run(Function &F, AnalysisManager &AM) override {
      return Pass.run(F, AM);
    }
    std::string_view name() const override { return PassT::name(); }
    PassT Pass;
  };

  std::vector<std::unique_ptr<PassConcept>> Passes;
  Observer Notify;
};

}  // namespace tir

#endif  // PASSES_PASS_MANAGER_H
