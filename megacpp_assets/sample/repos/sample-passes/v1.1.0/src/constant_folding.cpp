// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "passes/analysis.h"
#include "passes/transforms.h"

namespace tir {
namespace {

/// Signed arithmetic wraps, as it does in the interpreter.
template <typename Fn>
std::int64_t wrapping(std::int64_t L, std::int64_t R, Fn Apply) {
  return static_cast<std::int64_t>(
      Apply(static_cast<std::uint64_t>(L), static_cast<std::uint64_t>(R)));
}

/// A phi whose inputs agree (or refer back to itself) is that input.
Value *uniqueIncoming(const Instruction &Phi) {
  Value *Only = nullptr;
  for (Value *In : Phi.operands()) {
    if (In == &Phi || In == Only)
      continue;
    if (Only)
      return nullptr;
    Only = In;
  }
  return Only;
}

bool isConst(const Value *V, std::int64_t Expected) {
  const auto *C = dyn_cast<ConstantInt>(V);
  return C && C->value() == Expected;
}

/// Identities of the form `x op c` and `x op x`, with the constant on the right.
Value *matchIdentity(Opcode Op, Value *L, Value *R, Function &F) {
  switch (Op) {
  case Opcode::Add:
    return isConst(R, 0) ? L : nullptr;
  case Opcode::Sub:
    if (L == R)
      return F.constant(0);
    return isConst(R, 0) ? L : nullptr;
  case Opcode::Mul:
    if (isConst(R, 0))
      return R;
    return isConst(R, 1) ? L : nullptr;
  case Opcode::Div:
    return isConst(R, 1) ? L : nullptr;
  case Opcode::And:
    return L == R || isConst(R, -1) ? L : nullptr;
  case Opcode::Xor:
    if (L == R)
      return F.constant(0);
    return isConst(R, 0) ? L : nullptr;
  case Opcode::CmpEq:
    return L == R ? F.constant(1) : nullptr;
  case Opcode::CmpLt:
    return L == R ? F.constant(0) : nullptr;
  default:
    return nullptr;
  }
}

Value *simplifyIdentity(const Instruction &I, Function &F) {
  Value *L = I.operand(0);
  Value *R = I.operand(1);
  if (isCommutative(I.opcode()) && isa<ConstantInt>(L))
    std::swap(L, R);
  return matchIdentity(I.opcode(), L, R, F);
}

/// Returns the replacement for `I`, or null when it has to stay.
Value *foldInstruction(const Instruction &I, Function &F, const DominatorTree &DT) {
  if (I.isPhi()) {
    Value *Only = uniqueIncoming(I);
    const auto *Def = Only ? dyn_cast<Instruction>(Only) : nullptr;
    return !Def || DT.dominates(Def, &I) ? Only : nullptr;
  }
  if (!isBinary(I.opcode()))
    return nullptr;
  const auto *L = dyn_cast<ConstantInt>(I.operand(0));
  const auto *R = dyn_cast<ConstantInt>(I.operand(1));
  if (!L || !R)
    return simplifyIdentity(I, F);
  const auto V = evaluateBinary(I.opcode(), L->value(), R->value());
  return V ? F.constant(*V) : nullptr;
}

}  // namespace

std::optional<std::int64_t> evaluateBinary(Opcode Op, std::int64_t L, std::int64_t R) {
  switch (Op) {
  case Opcode::Add:
    return wrapping(L, R, [](auto A, auto B) { return A + B; });
  case Opcode::Sub:
    return wrapping(L, R, [](auto A, auto B) { return A - B; });
  case Opcode::Mul:
    return wrapping(L, R, [](auto A, auto B) { return A * B; });
  case Opcode::Div:
    if (R == 0)
      return std::nullopt;
    // The one quotient that does not fit wraps to itself.
    return R == -1 ? wrapping(0, L, [](auto A, auto B) { return A - B; }) : L / R;
  case Opcode::And:
    return L & R;
  case Opcode::Xor:
    return L ^ R;
  case Opcode::CmpEq:
    return L == R;
  case Opcode::CmpLt:
    return L < R;
  default:
    return std::nullopt;
  }
}

bool isCommutative(Opcode Op) {
  switch (Op) {
  case Opcode::Add:
  case Opcode::Mul:
  case Opcode::And:
  case Opcode::Xor:
  case Opcode::CmpEq:
    return true;
  default:
    return false;
  }
}

PreservedAnalyses ConstantFoldingPass::run(Function &F, AnalysisManager &AM) {
  const DominatorTree &DT = AM.get<DominatorAnalysis>(F);
  bool Changed = false;
  for (BasicBlock *BB : AM.get<CfgAnalysis>(F).Order) {
    auto &Insts = BB->instructions();
    for (auto It = Insts.begin(); It != Insts.end();) {
      Value *New = foldInstruction(**It, F, DT);
      if (!New) {
        ++It;
        continue;
      }
      (*It)->replaceAllUsesWith(New);
      It = BB->erase(It);
      Changed = true;
    }
  }
  if (!Changed)
    return PreservedAnalyses::all();
  return PreservedAnalyses::none().preserve<CfgAnalysis>().preserve<DominatorAnalysis>();
}

}  // namespace tir
