// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/runner.h"

int main(int argc, char** argv) { return verity::RunAllTests(argc, argv); }
