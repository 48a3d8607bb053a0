// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "passes/ir.h"

#include <algorithm>

namespace tir {

const char *mnemonic(Opcode Op) {
  switch (Op) {
#define TIR_BINARY(Enum, text) \
  case Opcode::Enum:           \
    return text;
#define TIR_OTHER(Enum, text) TIR_BINARY(Enum, text)
#define TIR_TERM(Enum, text) TIR_BINARY(Enum, text)
#include "passes/opcodes.def"
  }
  return "<invalid>";
}

bool isBinary(Opcode Op) {
  switch (Op) {
#define TIR_BINARY(Enum, text) case Opcode::Enum:
#include "passes/opcodes.def"
    return true;
  default:
    return false;
  }
}

bool isTerminator(Opcode Op) {
  switch (Op) {
#define TIR_TERM(Enum, text) case Opcode::Enum:
#include "passes/opcodes.def"
    return true;
  default:
    return false;
  }
}

void Value::removeUser(Instruction *I) {
  auto It = std::find(Users.begin(), Users.end(), I);
  assert(It != Users.end() && "use list out of sync");
  *It = Users.back();
  Users.pop_back();
}

void Value::replaceAllUsesWith(Value *New) {
  assert(New != this && "value cannot replace itself");
  // setOperand edits Users, so walk a snapshot.
  const std::vector<Instruction *> Snapshot = Users;
  for (Instruction *User : Snapshot)
    for (std::size_t I = 0; I < User->operands().size(); ++I)
      if (User->operand(I) == this)
        User->setOperand(I, New);
}

Instruction::Instruction(Opcode Op, BasicBlock *Parent, std::vector<Value *> Ops,
                         std::vector<BasicBlock *> Blocks)
    : Value(Kind::Instruction), Op(Op), Parent(Parent), Operands(std::move(Ops)),
      Blocks(std::move(Blocks)) {
  for (Value *V : Operands)
    V->addUser(this);
}

void Instruction::setOperand(std::size_t I, Value *V) {
  Operands[I]->removeUser(this);
  Operands[I] = V;
  V->addUser(this);
}

void Instruction::dropOperands() {
  for (Value *V : Operands)
    V->removeUser(this);
  Operands.clear();
}

void Instruction::becomeBr(BasicBlock *Target) {
  assert(Op == Opcode::CondBr && "only a conditional branch can be narrowed");
  dropOperands();
  Op = Opcode::Br;
  Blocks.assign(1, Target);
}

void Instruction::replaceBlock(BasicBlock *Old, BasicBlock *New) {
  std::replace(Blocks.begin(), Blocks.end(), Old, New);
}

void Instruction::addIncoming(Value *V, BasicBlock *From) {
  assert(isPhi());
  Operands.push_back(V);
  Blocks.push_back(From);
  V->addUser(this);
}

void Instruction::removeIncoming(const BasicBlock *From) {
  assert(isPhi());
  for (std::size_t I = Blocks.size(); I-- > 0;) {
    if (Blocks[I] != From)
      continue;
    Operands[I]->removeUser(this);
    Operands.erase(Operands.begin() + static_cast<std::ptrdiff_t>(I));
    Blocks.erase(Blocks.begin() + static_cast<std::ptrdiff_t>(I));
  }
}

Instruction *BasicBlock::append(std::unique_ptr<Instruction> I) {
  I->Parent = this;
  Insts.push_back(std::move(I));
  return Insts.back().get();
}

Instruction *BasicBlock::terminator() const {
  if (Insts.empty() || !Insts.back()->isTerminator())
    return nullptr;
  return Insts.back().get();
}

std::vector<BasicBlock *> BasicBlock::successors() const {
  const Instruction *Term = terminator();
  return Term ? Term->blocks() : std::vector<BasicBlock *>{};
}

void BasicBlock::spliceFrom(BasicBlock &From) {
  for (auto &I : From.Insts)
    I->Parent = this;
  Insts.splice(Insts.end(), From.Insts);
}

Function::~Function() {
  // Break cycles through phis before any value goes away.
  for (auto &BB : Blocks)
    for (auto &I : BB->instructions())
      I->dropOperands();
}

Argument *Function::addArgument(std::string ArgName) {
  const auto Index = static_cast<unsigned>(Args.size());
  Args.push_back(std::make_unique<Argument>(std::move(ArgName), Index));
  return Args.back().get();
}

BasicBlock *Function::addBlock(std::string Label) {
  Blocks.push_back(std::make_unique<BasicBlock>(this, std::move(Label)));
  return Blocks.back().get();
}

ConstantInt *Function::constant(std::int64_t V) {
  auto &Slot = Constants[V];
  if (!Slot)
    Slot = std::make_unique<ConstantInt>(V);
  return Slot.get();
}

void Function::eraseBlock(const BasicBlock *BB) {
  for (auto &I : BB->instructions())
    I->dropOperands();
  auto It = std::find_if(Blocks.begin(), Blocks.end(),
                         [BB](const auto &P) { return P.get() == BB; });
  assert(It != Blocks.end() && "block belongs to another function");
  Blocks.erase(It);
}

std::size_t Function::instructionCount() const {
  std::size_t N = 0;
  for (const auto &BB : Blocks)
    N += BB->instructions().size();
  return N;
}

Function *Module::addFunction(std::string Name) {
  Functions.push_back(std::make_unique<Function>(std::move(Name)));
  return Functions.back().get();
}

Function *Module::find(const std::string &Name) const {
  for (const auto &F : Functions)
    if (F->name() == Name)
      return F.get();
  return nullptr;
}

}  // namespace tir
