// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "passes/analysis.h"
#include "passes/text.h"

using namespace tir;

namespace {

constexpr const char *SelfCheck = R"(
func @clamp(%x) {
entry:
  %limit = mul 10, 10
  %c = lt %x, %limit
  condbr %c, small, big
small:
  br done
big:
  br done
done:
  %r = phi [%x, small], [%limit, big]
  ret %r
}
)";

struct Options {
  std::string Pipeline = "fold,dce,simplify-cfg";
  const char *Input = nullptr;
  bool Verbose = false;
  bool SelfCheck = false;
};

bool parseOptions(int Argc, char **Argv, Options &Opts) {
  for (int I = 1; I < Argc; ++I) {
    if (!std::strcmp(Argv[I], "-p") && I + 1 < Argc)
      Opts.Pipeline = Argv[++I];
    else if (!std::strcmp(Argv[I], "-v"))
      Opts.Verbose = true;
    else if (!std::strcmp(Argv[I], "--self-check"))
      Opts.SelfCheck = true;
    else if (Argv[I][0] != '-' && !Opts.Input)
      Opts.Input = Argv[I];
    else
      return false;
  }
  return Opts.Input || Opts.SelfCheck;
}

bool buildPipeline(const std::string &Spec, FunctionPassManager &FPM) {
  std::size_t Start = 0;
  while (Start <= Spec.size()) {
    const std::size_t Comma = std::min(Spec.find(',', Start), Spec.size());
    const std::string Name = Spec.substr(Start, Comma - Start);
    if (!FPM.addByName(Name)) {
      std::fprintf(stderr, "popt: unknown pass '%s'\n", Name.c_str());
      return false;
    }
    Start = Comma + 1;
  }
  return true;
}

bool readFile(const char *Path, std::string &Out) {
  std::FILE *File = std::fopen(Path, "rb");
  if (!File)
    return false;
  char Chunk[4096];
  while (std::size_t N = std::fread(Chunk, 1, sizeof Chunk, File))
    Out.append(Chunk, N);
  std::fclose(File);
  return true;
}

int optimize(const std::string &Text, const Options &Opts) {
  Diagnostic Diag;
  auto M = parseModule(Text, Diag);
  if (!M) {
    std::fprintf(stderr, "popt: line %u: %s\n", Diag.Line, Diag.Message.c_str());
    return 1;
  }
  FunctionPassManager FPM;
  if (!buildPipeline(Opts.Pipeline, FPM))
    return 1;
  if (Opts.Verbose)
    FPM.setObserver([](std::string_view Pass, const Function &F, bool Changed) {
      std::fprintf(stderr, "%-14.*s @%s%s\n", static_cast<int>(Pass.size()), Pass.data(),
                   F.name().c_str(), Changed ? " (changed)" : "");
    });
  AnalysisManager AM;
  for (const auto &F : M->functions()) {
    FPM.runToFixpoint(*F, AM);
    const std::string Broken = verify(*F, AM);
    if (!Broken.empty()) {
      std::fprintf(stderr, "popt: @%s: %s\n", F->name().c_str(), Broken.c_str());
      return 1;
    }
  }
  std::fputs(print(*M).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int Argc, char **Argv) {
  Options Opts;
  if (!parseOptions(Argc, Argv, Opts)) {
    std::fprintf(stderr, "usage: popt [-v] [-p pass,pass] (input.tir | --self-check)\n");
    return 2;
  }
  std::string Text;
  if (Opts.SelfCheck) {
    Text = SelfCheck;
  } else if (!readFile(Opts.Input, Text)) {
    std::fprintf(stderr, "popt: cannot read '%s'\n", Opts.Input);
    return 1;
  }
  return optimize(Text, Opts);
}
