// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef PASSES_BUILDER_H
#define PASSES_BUILDER_H

#include "passes/ir.h"

namespace tir {

/// Appends instructions to the end of a block, naming results on the way.
class Builder {
public:
  explicit Builder(BasicBlock *BB) : BB(BB) {}

  void setInsertPoint(BasicBlock *NewBB) { BB = NewBB; }
  BasicBlock *block() const { return BB; }
  ConstantInt *constant(std::int64_t V) const { return BB->parent()->constant(V); }

  Instruction *binary(Opcode Op, Value *L, Value *R, std::string Name) {
    assert(isBinary(Op));
    return insert(Op, {L, R}, {}, std::move(Name));
  }

#define TIR_BINARY(Enum, mnemonic)                                     \
  Instruction *create##Enum(Value *L, Value *R, std::string Name) {    \
    return binary(Opcode::Enum, L, R, std::move(Name));                \
  }
#include "passes/opcodes.def"

  Instruction *createPhi(std::string Name) {
    return insert(Opcode::Phi, {}, {}, std::move(Name));
  }
  Instruction *createEmit(Value *V) { return insert(Opcode::Emit, {V}, {}); }
  Instruction *createRet(Value *V) { return insert(Opcode::Ret, {V}, {}); }
  Instruction *createBr(BasicBlock *To) { return insert(Opcode::Br, {}, {To}); }
  Instruction *createCondBr(Value *Cond, BasicBlock *Then, BasicBlock *Else) {
    return insert(Opcode::CondBr, {Cond}, {Then, Else});
  }

private:
  Instruction *insert(Opcode Op, std::vector<Value *> Ops,
                      std::vector<BasicBlock *> Blocks, std::string Name = {}) {
    auto I = std::make_unique<Instruction>(Op, BB, std::move(Ops), std::move(Blocks));
    I->setName(std::move(Name));
    return BB->append(std::move(I));
  }

  BasicBlock *BB;
};

}  // namespace tir

#endif  // PASSES_BUILDER_H
