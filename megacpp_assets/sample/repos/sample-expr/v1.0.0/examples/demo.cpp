// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cstdio>

#include "expr/calc.hpp"
#include "expr/matrix.hpp"
#include "expr/units.hpp"

using namespace expr;
using namespace expr::units::literals;

namespace {

/// Explicit Euler steps of a particle under constant acceleration.
vec<double, 2> simulate(vec<double, 2> position, vec<double, 2> velocity,
                        const vec<double, 2> &gravity, int steps) {
  const double dt = 1.0 / steps;
  for (int i = 0; i < steps; ++i) {
    position += velocity * dt + gravity * (dt * dt / 2);
    velocity += gravity * dt;
  }
  return position;
}

units::energy kinetic_energy(units::mass m, units::speed v) {
  return 0.5 * (m * v * v);
}

}  // namespace

int main() {
  const auto where = simulate(vec(0.0, 0.0), vec(4.0, 5.0), vec(0.0, -10.0), 64);
  std::printf("after one second: (%.2f, %.2f)\n", where[0], where[1]);

  const auto joules = kinetic_energy(1200_kg, 72_km / 1_h);
  std::printf("kinetic energy: %.0f kJ\n", joules.value() / 1000);

  calc::environment env = {{"joules", joules.value()}};
  const auto grams = calc::evaluate("joules / (4.184 * (100 - 20))", env);
  std::printf("boils %.0f g of water\n", grams.value);

  const bool ok = grams.code == calc::status::ok && norm(where - vec(4.0, 0.0)) < 1e-9;
  return ok ? 0 : 1;
}
