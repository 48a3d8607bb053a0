#pragma once

#include <nanobind/nanobind.h>

// Adds what writes parquet to the extension module.
void bind_writing(nanobind::module_& module);
