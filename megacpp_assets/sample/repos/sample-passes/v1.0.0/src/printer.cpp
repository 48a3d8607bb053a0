// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "passes/text.h"

namespace tir {
namespace {

std::string ref(const Value *V) {
  if (const auto *C = dyn_cast<ConstantInt>(V))
    return std::to_string(C->value());
  return "%" + V->name();
}

std::string phiList(const Instruction &I) {
  std::string Out;
  for (std::size_t N = 0; N < I.operands().size(); ++N) {
    Out += N ? ", [" : "[";
    Out += ref(I.operand(N)) + ", " + I.blocks()[N]->label() + "]";
  }
  return Out;
}

}  // namespace

std::string print(const Instruction &I) {
  std::string Out;
  if (I.yieldsValue())
    Out += "%" + I.name() + " = ";
  Out += mnemonic(I.opcode());
  if (I.isPhi())
    return Out + " " + phiList(I);

  const char *Sep = " ";
  for (const Value *V : I.operands()) {
    Out += Sep + ref(V);
    Sep = ", ";
  }
  for (const BasicBlock *BB : I.blocks()) {
    Out += Sep + BB->label();
    Sep = ", ";
  }
  return Out;
}

std::string print(const Function &F) {
  std::string Out = "func @" + F.name() + "(";
  for (const auto &A : F.args())
    Out += (A->index() ? ", %" : "%") + A->name();
  Out += ") {\n";
  for (const auto &BB : F.blocks()) {
    Out += BB->label() + ":\n";
    for (const auto &I : BB->instructions())
      Out += "  " + print(*I) + "\n";
  }
  return Out + "}\n";
}

std::string print(const Module &M) {
  std::string Out;
  for (const auto &F : M.functions()) {
    if (!Out.empty())
      Out += "\n";
    Out += print(*F);
  }
  return Out;
}

}  // namespace tir
