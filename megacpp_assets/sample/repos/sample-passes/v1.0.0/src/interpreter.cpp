// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <unordered_map>

#include "passes/text.h"
#include "passes/transforms.h"

namespace tir {
namespace {

class Interpreter {
public:
  Interpreter(const Function &F, const std::vector<std::int64_t> &Args) : F(F) {
    for (const auto &A : F.args())
      if (A->index() < Args.size())
        Env[A.get()] = Args[A->index()];
  }

  Execution run(unsigned Fuel) {
    const BasicBlock *Prev = nullptr;
    const BasicBlock *BB = F.entry();
    while (BB) {
      enterPhis(*BB, Prev);
      const BasicBlock *Next = nullptr;
      for (const auto &I : BB->instructions()) {
        if (I->isPhi())
          continue;
        if (Fuel-- == 0) {
          Out.Result = Execution::Status::OutOfFuel;
          return std::move(Out);
        }
        if (!step(*I, Next))
          return std::move(Out);
      }
      Prev = BB;
      BB = Next;
    }
    return std::move(Out);
  }

private:
  std::int64_t eval(const Value *V) const {
    if (const auto *C = dyn_cast<ConstantInt>(V))
      return C->value();
    auto It = Env.find(V);
    return It == Env.end() ? 0 : It->second;
  }

  /// All phis of a block read their inputs before any of them is written.
  void enterPhis(const BasicBlock &BB, const BasicBlock *From) {
    std::vector<std::pair<const Value *, std::int64_t>> Batch;
    for (const auto &I : BB.instructions()) {
      if (!I->isPhi())
        break;
      for (std::size_t N = 0; N < I->blocks().size(); ++N)
        if (I->blocks()[N] == From)
          Batch.emplace_back(I.get(), eval(I->operand(N)));
    }
    for (const auto &[Phi, V] : Batch)
      Env[Phi] = V;
  }

  /// Returns false once execution stops.
  bool step(const Instruction &I, const BasicBlock *&Next) {
    switch (I.opcode()) {
    case Opcode::Emit:
      Out.Emitted.push_back(eval(I.operand(0)));
      return true;
    case Opcode::Br:
      Next = I.blocks()[0];
      return true;
    case Opcode::CondBr:
      Next = I.blocks()[eval(I.operand(0)) ? 0 : 1];
      return true;
    case Opcode::Ret:
      Out.Result = Execution::Status::Returned;
      Out.Value = eval(I.operand(0));
      return false;
    default:
      break;
    }
    const auto V = evaluateBinary(I.opcode(), eval(I.operand(0)), eval(I.operand(1)));
    if (!V)
      return false;  // status stays Trapped
    Env[&I] = *V;
    return true;
  }

  const Function &F;
  std::unordered_map<const Value *, std::int64_t> Env;
  Execution Out;
};

}  // namespace

Execution interpret(const Function &F, const std::vector<std::int64_t> &Args,
                    unsigned Fuel) {
  return Interpreter(F, Args).run(Fuel);
}

}  // namespace tir
