`default_nettype none
// Which mutant lives in a mutated copy of the RTL (schemata.py); 0: none. Set once, when the model
// is made.
package weft_mutation_pkg;
  import "DPI-C" function int unsigned weft_active_mutant();
  int unsigned active = weft_active_mutant();
endpackage
`default_nettype wire
