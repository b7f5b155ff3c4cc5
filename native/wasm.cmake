# For `cmake -DCMAKE_TOOLCHAIN_FILE=native/wasm.cmake`: clang's own WebAssembly target with Debian's libraries for it
# (clang lld wasi-libc libc++-dev-wasm32 libc++abi-dev-wasm32 libclang-rt-dev-wasm32, all of one version).
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_BUILD_TYPE MinSizeRel)  # a page is downloaded; the kernels stay at -O3, and nothing else takes time
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)  # the name under which Debian has its libraries; newer clang calls it wasip1
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(NOT CMAKE_CXX_COMPILER)
  find_program(CMAKE_CXX_COMPILER NAMES clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++ REQUIRED)
endif()
