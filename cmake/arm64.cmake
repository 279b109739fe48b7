# SPDX-License-Identifier: BSD-2-Clause
# arm64.cmake - toolchain file: Debian's cross compiler, and the arm64 libraries that a Debian of
# another architecture has beside its own. scripts/arm64 makes a root with both.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
# Or the compiler of this machine would be taken; C++ is wanted where it is there.
find_program(qv_cross_cxx aarch64-linux-gnu-g++)
set(CMAKE_CXX_COMPILER ${qv_cross_cxx})
