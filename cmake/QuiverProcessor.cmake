# SPDX-License-Identifier: BSD-2-Clause
# QuiverProcessor - what is built for: qv_processor, x86, arm64 or any (plain C only), and qv_isas, the
# instruction sets that may have kernels there.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
	set(qv_processor x86)
	set(qv_isas scalar avx2 avx512f avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	set(qv_processor arm64)
	set(qv_isas scalar neon)
else()
	set(qv_processor any)
	set(qv_isas scalar)
endif()
