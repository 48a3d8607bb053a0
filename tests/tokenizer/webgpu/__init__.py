"""Tests of the WGSL kernels, on whatever adapter this machine has: Mesa's CPU driver where there is no card."""
