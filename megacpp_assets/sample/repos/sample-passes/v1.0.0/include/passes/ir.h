// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef PASSES_IR_H
#define PASSES_IR_H

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "passes/casting.h"

namespace tir {

class BasicBlock;
class Function;
class Instruction;

enum class Opcode : std::uint8_t {
#define TIR_BINARY(Enum, mnemonic) Enum,
#define TIR_OTHER(Enum, mnemonic) Enum,
#define TIR_TERM(Enum, mnemonic) Enum,
#include "passes/opcodes.def"
};

const char *mnemonic(Opcode Op);
bool isBinary(Opcode Op);
bool isTerminator(Opcode Op);

/// Anything an instruction can take as an operand.
class Value {
public:
  enum class Kind : std::uint8_t { Argument, Constant, Instruction };

  Value(const Value &) = delete;
  Value &operator=(const Value &) = delete;

  Kind kind() const { return K; }
  const std::string &name() const { return Name; }
  void setName(std::string N) { Name = std::move(N); }

  /// One entry per operand slot, so an instruction may appear repeatedly.
  const std::vector<Instruction *> &users() const { return Users; }
  bool unused() const { return Users.empty(); }

  /// Rewrites every operand slot that refers to this value.
  void replaceAllUsesWith(Value *New);

protected:
  explicit Value(Kind K, std::string Name = {}) : K(K), Name(std::move(Name)) {}
  ~Value() = default;

private:
  friend class Instruction;
  void addUser(Instruction *I) { Users.push_back(I); }
  void removeUser(Instruction *I);

  Kind K;
  std::string Name;
  std::vector<Instruction *> Users;
};

class Argument final : public Value {
public:
  Argument(std::string Name, unsigned Index)
      : Value(Kind::Argument, std::move(Name)), Index(Index) {}
  unsigned index() const { return Index; }
  static bool classof(const Value *V) { return V->kind() == Kind::Argument; }

private:
  unsigned Index;
};

/// A uniqued 64-bit constant, owned by its function.
class ConstantInt final : public Value {
public:
  explicit ConstantInt(std::int64_t V) : Value(Kind::Constant), Val(V) {}
  std::int64_t value() const { return Val; }
  static bool classof(const Value *V) { return V->kind() == Kind::Constant; }

private:
  std::int64_t Val;
};

/// An operation. Branch targets, and the incoming blocks of a phi, live in
/// `blocks()`; for a phi they run parallel to `operands()`.
class Instruction final : public Value {
public:
  Instruction(Opcode Op, BasicBlock *Parent, std::vector<Value *> Ops,
              std::vector<BasicBlock *> Blocks = {});
  ~Instruction() { dropOperands(); }

  Opcode opcode() const { return Op; }
  BasicBlock *parent() const { return Parent; }
  const std::vector<Value *> &operands() const { return Operands; }
  Value *operand(std::size_t I) const { return Operands[I]; }
  const std::vector<BasicBlock *> &blocks() const { return Blocks; }

  bool isPhi() const { return Op == Opcode::Phi; }
  bool isTerminator() const { return tir::isTerminator(Op); }
  bool hasSideEffects() const { return isTerminator() || Op == Opcode::Emit; }
  bool yieldsValue() const { return isPhi() || isBinary(Op); }

  void setOperand(std::size_t I, Value *V);
  void dropOperands();

  /// Turns a conditional branch into a jump to `Target`.
  void becomeBr(BasicBlock *Target);
  void replaceBlock(BasicBlock *Old, BasicBlock *New);

  void addIncoming(Value *V, BasicBlock *From);
  void removeIncoming(const BasicBlock *From);

  static bool classof(const Value *V) { return V->kind() == Kind::Instruction; }

private:
  friend class BasicBlock;
  Opcode Op;
  BasicBlock *Parent;
  std::vector<Value *> Operands;
  std::vector<BasicBlock *> Blocks;
};

class BasicBlock {
public:
  using InstList = std::list<std::unique_ptr<Instruction>>;
  using iterator = InstList::iterator;

  BasicBlock(Function *Parent, std::string Label)
      : Parent(Parent), Label(std::move(Label)) {}

  Function *parent() const { return Parent; }
  const std::string &label() const { return Label; }
  InstList &instructions() { return Insts; }
  const InstList &instructions() const { return Insts; }

  Instruction *append(std::unique_ptr<Instruction> I);
  iterator erase(iterator It) { return Insts.erase(It); }

  Instruction *terminator() const;
  std::vector<BasicBlock *> successors() const;

  /// Moves every instruction of `From` to the end of this block.
  void spliceFrom(BasicBlock &From);

private:
  Function *Parent;
  std::string Label;
  InstList Insts;
};

class Function {
public:
  explicit Function(std::string Name) : Name(std::move(Name)) {}
  ~Function();

  const std::string &name() const { return Name; }
  Argument *addArgument(std::string ArgName);
  BasicBlock *addBlock(std::string Label);
  ConstantInt *constant(std::int64_t V);
  void eraseBlock(const BasicBlock *BB);

  BasicBlock *entry() const { return Blocks.empty() ? nullptr : Blocks.front().get(); }
  const std::vector<std::unique_ptr<BasicBlock>> &blocks() const { return Blocks; }
  const std::vector<std::unique_ptr<Argument>> &args() const { return Args; }
  std::size_t instructionCount() const;

private:
  std::string Name;
  std::vector<std::unique_ptr<Argument>> Args;
  std::map<std::int64_t, std::unique_ptr<ConstantInt>> Constants;
  std::vector<std::unique_ptr<BasicBlock>> Blocks;
};

class Module {
public:
  Function *addFunction(std::string Name);
  Function *find(const std::string &Name) const;
  const std::vector<std::unique_ptr<Function>> &functions() const { return Functions; }

private:
  std::vector<std::unique_ptr<Function>> Functions;
};

}  // namespace tir

#endif  // PASSES_IR_H
