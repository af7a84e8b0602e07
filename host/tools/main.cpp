// The weft command.
#include "host/tools/command_line.hpp"

int main(int argc, char** argv) { return weft::tools::run_command_line({argv + 1, argv + argc}); }
