// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef PASSES_TEXT_H
#define PASSES_TEXT_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "passes/ir.h"

namespace tir {

/// Renders in the syntax `parseModule` accepts.
std::string print(const Instruction &I);
std::string print(const Function &F);
std::string print(const Module &M);

struct Diagnostic {
  unsigned Line = 0;
  std::string Message;
};

/// Parses a module. Returns null and fills `Diag` on the first error.
std::unique_ptr<Module> parseModule(std::string_view Text, Diagnostic &Diag);

/// Outcome of running a function under the reference interpreter.
struct Execution {
  enum class Status { Returned, Trapped, OutOfFuel };
  Status Result = Status::Trapped;
  std::int64_t Value = 0;
  std::vector<std::int64_t> Emitted;

  bool operator==(const Execution &O) const {
    return Result == O.Result && Value == O.Value && Emitted == O.Emitted;
  }
};

Execution interpret(const Function &F, const std::vector<std::int64_t> &Args,
                    unsigned Fuel = 10000);

}  // namespace tir

#endif  // PASSES_TEXT_H
