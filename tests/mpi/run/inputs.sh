# SPDX-License-Identifier: BSD-2-Clause
# inputs.sh - what Debian's programs read; sourced by bash.

# hpcc_input FOLDER RANKS: HPL and PTRANS of order 200 on a 1 x 2 or 2 x 2 grid; the other parts take their
# size from it.
hpcc_input()
{
	local rows=$(($2 / 2))
	cat >"$1/hpccinf.txt" <<END
quiver's small HPCC input
any place
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            number of problem sizes
200          Ns
1            number of NBs
16           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            number of process grids
$rows        Ps
2            Qs
16.0         threshold
1            number of panel facts
2            PFACTs
1            number of recursive stopping criteria
4            NBMINs
1            number of panels in recursion
2            NDIVs
1            number of recursive panel facts
1            RFACTs
1            number of broadcasts
1            BCASTs
1            number of lookahead depths
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1 in form
0            U in form
1            equilibration
8            memory alignment in double
separator
1            number of additional problem sizes for PTRANS
150          values of N
1            number of additional blocking sizes for PTRANS
8            values of NB
END
}

# lammps_input FOLDER: a Lennard-Jones melt of 2048 atoms, 200 steps.
lammps_input()
{
	cat >"$1/in.melt" <<'END'
units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 8 0 8 0 8
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create 3.0 87287 loop geom
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
neigh_modify    every 5 delay 0 check yes
fix             1 all nve
thermo          10
thermo_style    custom step temp epair etotal press
thermo_modify   format float %20.15g
run             200
END
}
