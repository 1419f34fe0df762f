"""The one table of diagnostic codes: what each means, why it matters and what helps.

Codes are stable and never used twice: REG0xx reading, 1xx loops, 2xx redundancy, 3xx export.
"""

from __future__ import annotations

from dataclasses import dataclass

from regularize.model.diagnostic import Severity


@dataclass(frozen=True)
class Rule:
    """A kind of finding.

    Attributes:
        code: Stable code.
        name: Short name in words joined by hyphens.
        severity: How it is reported unless the case says otherwise.
        what: What was found.
        why: Why it matters.
        example: A case that an engineer knows.
        fix: What to do.
        reference: Where to read more.
        theorem: Headings of the proof that it rests on; see ``proofs.words``.
    """

    code: str
    name: str
    severity: Severity
    what: str
    why: str
    example: str
    fix: str
    reference: str = ""
    theorem: tuple[str, ...] = ()


_MUELLER = "Müller, Archive of Mechanical Engineering 61 (2014)"
_BRULS = "Brüls, Duysinx, Golinval, ECCOMAS Multibody Dynamics (2003)"
_WOJTYRA = "Wojtyra, Multibody System Dynamics 14 (2005)"

RULES: tuple[Rule, ...] = (
    Rule(
        "REG010",
        "second-parent",
        "warning",
        "A link has two parent joints. Plain URDF cannot express loops, so this file is not valid "
        "URDF; it is read as a loop that the second joint closes.",
        "Parsers disagree about such files: some fail, some drop a joint without a word.",
        "A four-bar exported from CAD with the rocker as child of the coupler and of the base.",
        "Close the loop by a <loop> element (URDF+) or a sidecar: "
        "regularize export MODEL --to urdf+.",
    ),
    Rule(
        "REG012",
        "suspicious-units",
        "warning",
        "The size of the model suggests that millimetres were read as metres.",
        "Masses, inertias and gravity no longer fit the lengths.",
        "A gripper of 80 m.",
        "State the unit in the file, or scale the model on export.",
    ),
    Rule(
        "REG013",
        "ignored",
        "note",
        "An element of the file takes no part in the analysis, or was read by a convention.",
        "Nothing is dropped silently: what is ignored here could matter to you.",
        "A <sensor> element.",
        "Nothing, unless the element closes a loop.",
    ),
    Rule(
        "REG014",
        "doubtful-inertia",
        "warning",
        "Mass properties are missing in part, not physical, or a parser's invention.",
        "The kinematic analysis does not need them; simulations do.",
        "A link whose inertia is not positive definite.",
        "Correct the <inertial> element; a missing one stays missing.",
    ),
    Rule(
        "REG015",
        "frames-aligned",
        "note",
        "The two frames of a closure coincide at zero coordinates but are turned against each "
        "other in a way that the joint does not allow; one was turned back.",
        "The convention of the format closes positions only.",
        "A URDF+ loop whose successor frame has no rotation of its own.",
        "Give the frame on the successor its orientation.",
    ),
    Rule(
        "REG016",
        "keyframe-pose",
        "note",
        "The reference pose is a keyframe of the file instead of its zero coordinates.",
        "At the zero coordinates the loops are further from being closed than at the keyframe.",
        "The home keyframe of a legged robot.",
        "Nothing; or name another pose on reading.",
    ),
    Rule(
        "REG017",
        "placements-misfit",
        "warning",
        "The placements saved in a CAD file do not fit a joint: its two frames are not where the "
        "joint allows them to be.",
        "The assembly was saved unsolved or moved since, so the pose analysed is not the one seen.",
        "A crank that stands 1.2 degrees askew in its bearing.",
        "Solve the assembly in the CAD system and save it again.",
    ),
    Rule(
        "REG018",
        "mass-from-shapes",
        "note",
        "Mass properties were computed from shapes, at the density of the material that the file "
        "gives them or at one that you gave, or could not be.",
        "They are as good as the shapes: meshes of covers weigh nothing like a machine.",
        "A link with a visual mesh and no <inertial> element, read with --density 2700.",
        "Write measured mass properties into the model.",
    ),
    Rule(
        "REG019",
        "loop-offered",
        "note",
        "Two frames without mass on different branches of the model lie in the same place, and no "
        "joint of the file closes a loop there.",
        "Exporters mark loops so, for formats that hold trees only: then the analysis sees a tree.",
        "Links link_3_cl1_1 and link_5_cl1_2 that a CAD exporter put where two parts are pinned.",
        "Paste the line that is printed, if they mark a loop; if they do not, leave them.",
    ),
    Rule(
        "REG020",
        "unexplained-suppression",
        "warning",
        "A comment in the model asks to ignore a finding, but does not say why; the finding stays.",
        "Whoever reads the model later cannot judge whether the reason still holds.",
        "The comment <!-- regularize: ignore REG201 --> above a loop.",
        "Write the reason behind the code: <!-- regularize: ignore REG201 meant to be stiff -->. "
        "On the line of the finding or the line before it; ignore-file holds for the whole file.",
    ),
    Rule(
        "REG021",
        "files-elsewhere",
        "note",
        "Files outside of the model's folder belong to the model: what it includes, or its meshes.",
        "What you read or pass on is more than the folder, and another machine may not have it.",
        "A mesh at /elsewhere/part.stl, or an include that begins with ../..",
        "Make sure that you mean these files, and pass them on with the model.",
    ),
    Rule(
        "REG101",
        "loop-open",
        "error",
        "A loop cannot be closed in any configuration that was found.",
        "The model contradicts itself: lengths or frames do not fit together.",
        "A four-bar whose coupler is shorter than the gap that it has to span.",
        "Look at the gap that remains and at the frames of the closing joint.",
    ),
    Rule(
        "REG102",
        "no-ground",
        "warning",
        "The file does not say what is fixed; a body was taken as ground.",
        "The counts depend on what is fixed only through the base freedoms.",
        "Links that form a pure cycle.",
        "Name the root, or ask for a floating base with --floating.",
    ),
    Rule(
        "REG103",
        "disconnected",
        "warning",
        "A part of the model has no path of joints to the ground; it was given a 6-freedom base.",
        "It adds six freedoms, which is often a forgotten joint.",
        "A gear that is drawn but not mated.",
        "Connect the part, or fix it to the ground.",
    ),
    Rule(
        "REG104",
        "saved-open",
        "note",
        "The loops are open at the stored coordinates; they were closed before the analysis.",
        "Constraint rows taken at an open pose mean nothing.",
        "A robot drawn with its legs apart.",
        "Nothing; or store the assembled coordinates.",
    ),
    Rule(
        "REG201",
        "redundant-subgroup",
        "warning",
        "Constraint equations of a loop are redundant in every configuration, because the motion "
        "that the other joints allow never leaves a motion subgroup, or meets only part of it.",
        "Solvers meet singular matrices, and the forces in these directions are undetermined.",
        "A planar four-bar closed by a hinge: 3 of 5 equations.",
        "Change the joints in your own file as the report says: regularize fix MODEL. Or drop the "
        "equations in the simulation model: regularize reduce MODEL.",
        _MUELLER,
        ("Setting", "Groups", "Seen spaces", "Cut", "Rigid", "Theorem"),
    ),
    Rule(
        "REG202",
        "redundant-paradoxical",
        "warning",
        "Equations are redundant at every configuration that was visited, but the motion algebras "
        "do not prove it. With other lengths and the same relations of the axes (parallel, "
        "coaxial, meeting in a point, at right angles) it is lost: special dimensions make it.",
        "The mechanism moves only as long as the dimensions are met exactly; nothing is removed.",
        "Bennett's linkage; a parallelogram with a third equal crank.",
        "Keep all rows, or remove them on numerical evidence: reduce(..., numerical=True).",
        "Bennett, Engineering 76 (1903)",
    ),
    Rule(
        "REG203",
        "singular-here",
        "note",
        "The rank of the closure equations is lower at the assembled pose than elsewhere.",
        "A tool that tests the rank at this pose alone would delete equations that matter.",
        "A parallelogram folded flat.",
        "Start a simulation from another pose.",
    ),
    Rule(
        "REG204",
        "nearly-redundant",
        "warning",
        "A loop would be special if an axis were moved by very little; as given it is not.",
        "The model locks or bends where the real machine moves; matrices are badly conditioned.",
        "A four-bar with one axis tilted by half a milliradian.",
        "Make the axes exactly parallel, planar or concurrent in the model.",
    ),
    Rule(
        "REG205",
        "conflicting",
        "error",
        "Redundant equations contradict each other, so the loop cannot be closed.",
        "No configuration fulfils them.",
        "A planar four-bar closed by a hinge whose frames are twisted by a degree.",
        "Correct the frames of the closing joint, or relax it in the conflicting directions.",
    ),
    Rule(
        "REG206",
        "locked",
        "warning",
        "Joints can never move, whatever the configuration.",
        "They look like freedoms in the model but are none.",
        "The hinges of a triangle of bars.",
        "Make the joints fixed (regularize fix MODEL --joint NAME=fixed), or free what locks them.",
    ),
    Rule(
        "REG207",
        "idle-freedom",
        "note",
        "A body, or a leg of several, spins about a line without moving anything else.",
        "The freedom is real, counts in the mobility, and makes mass matrices ill-conditioned.",
        "The rod between two ball joints of an RSSR linkage; a leg S-P-S or S-U-S.",
        "Replace one ball joint by a universal joint.",
    ),
    Rule(
        "REG208",
        "shaky",
        "warning",
        "All along a motion, or at all poses of a structure, velocities are possible that no "
        "finite motion follows; the report says which self-stress or order of terms forbids them.",
        "The mechanism is infinitesimally mobile: clearances and forces are amplified.",
        "Two ball joints and a hinge with all in one plane.",
        "Move the joint out of the special position.",
    ),
    Rule(
        "REG209",
        "immobile",
        "warning",
        "The loops do not allow any motion.",
        "A mechanism with mobility zero is a structure.",
        "A nearly planar four-bar.",
        "See REG204 and REG206 for what locks it.",
    ),
    Rule(
        "REG210",
        "redundant-topological",
        "warning",
        "Equations between loops are redundant for any lengths, as the graph and the joint types "
        "of a locked structure have it; or for all lengths that were tried with the same relations "
        "of the axes, though the motion algebras do not prove it.",
        "The forces are statically indeterminate; nothing is removed.",
        "A frame with one bar too many; four legs R-U-U with Schoenflies motion.",
        "Leave out a bar or a leg, or remove the rows with reduce(..., numerical=True).",
        _MUELLER,
    ),
    Rule(
        "REG211",
        "doubled-closure",
        "note",
        "Two point closures of the same pair of bodies amount to one hinge and write a sixth row.",
        "The row along the line of the two points is written twice.",
        "Two <connect> elements that model a hinge in MJCF.",
        "Use one closure of the joint's own type, or accept the soft duplicate.",
    ),
    Rule(
        "REG212",
        "mates-merged",
        "note",
        "Several mates of one pair of bodies amount to one joint; some rows stand twice.",
        "This is how assemblies become overconstrained.",
        "Concentric, coincident and parallel mates that make one hinge.",
        "Replace the mates by the joint.",
    ),
    Rule(
        "REG213",
        "several-modes",
        "note",
        "Several motions start at the assembled pose.",
        "Which one a simulation follows depends on rounding.",
        "An N-four-bar folded flat.",
        "Start on the branch that you mean: regularize simulate MODEL --branch N.",
    ),
    Rule(
        "REG214",
        "unclear-rank",
        "note",
        "The rank depends on the tolerance by which it is judged.",
        "Geometry is special only up to the rounding of the file.",
        "Angles written as 1.5708.",
        "Write more digits, or choose --rtol on purpose.",
    ),
    Rule(
        "REG215",
        "not-certified",
        "warning",
        "Walking on the reduced equations opened a loop, so nothing was removed there.",
        "The geometry is shaky or special in a way that the theory does not cover.",
        "A shaky loop analysed with too coarse a tolerance.",
        "Report the model; the full set of equations is kept.",
    ),
    Rule(
        "REG216",
        "rigid-loop",
        "warning",
        "Fixed joints join the same two bodies twice.",
        "Six equations stand twice.",
        "Two welds between the same links.",
        "Remove one of them.",
    ),
    Rule(
        "REG217",
        "undecided-mobility",
        "warning",
        "Whether finite motions follow the velocities that the loops allow could not be decided.",
        "No motion was found, and no self-stress rules one out: it may be locked or not.",
        "A framework that is rigid in the third order.",
        "Move a joint a little and check again: in general position counting decides.",
    ),
    Rule(
        "REG218",
        "closure-too-stiff",
        "warning",
        "A closure locks joints that another joint in its place would let move: a weld where a "
        "hinge belongs, six rows where three do.",
        "Engines that close loops by whole frames or points leave no other choice to whoever wrote "
        "the model. No redundant row is to blame, so removing rows frees nothing.",
        "A planar four-bar that a 6D constraint closes in Pinocchio, or a weld in MJCF.",
        "Make the closure what is proposed: `regularize fix MODEL --joint NAME=KIND:X,Y,Z`, or "
        "rg.augment(model, closures, kinds={...}). The axis passes through the closure's origin; "
        "its direction is that on the ground at the assembled pose.",
    ),
    Rule(
        "REG219",
        "moves-as-designed",
        "warning",
        "The written geometry moves less than a mechanism next to it does. It is a note where this "
        "takes axes to meet that only the places of their frames suggest do.",
        "Files hold rounded numbers, and special geometry is lost by rounding: the model locks, or "
        "its mobility cannot be decided, where the real machine turns.",
        "A Schmidt coupling whose cranks are of equal length to a micrometre.",
        "Write the numbers with all their digits, or go on with what was meant: --as-designed, "
        "rg.idealise(mechanism). Where the machine is built as it is written, the joints that are "
        "named bind: make these precise, or let them give way.",
    ),
    Rule(
        "REG220",
        "indeterminate-reactions",
        "note",
        "The model does not determine all reactions of these joints.",
        "Whatever a solver prints for them is one of infinitely many answers.",
        "The axial force in the hinges of a planar four-bar.",
        "Trust the unique components only, or model the elasticity.",
        _WOJTYRA,
    ),
    Rule(
        "REG221",
        "kinematotropic",
        "note",
        "Components of different mobility meet at the assembled pose: the mechanism can change its "
        "number of freedoms there without being taken apart. Each was followed away from the pose "
        "and back; the report gives its mobility, its rank and what the mobility rests on.",
        "Which one a simulation follows depends on rounding, and motors that suffice on one branch "
        "are too few on another.",
        "The platform of Wren on six equal upright rods: it translates with two freedoms, or "
        "screws with one.",
        "Start on the branch that you mean: regularize simulate MODEL --branch N; `regularize "
        "show` draws all of them.",
        "Wohlhart, Recent Advances in Robot Kinematics (1996)",
    ),
    Rule(
        "REG223",
        "may-have-been-meant",
        "note",
        "Whether the loops are meant to move is not decided by the written numbers.",
        "A few equations are so weak that noise in the numbers may be all that makes them count, "
        "and no special mechanism was found that explains it.",
        "A linkage whose axes are off by half a degree.",
        "Write the numbers with all their digits, or look further with --near.",
    ),
    Rule(
        "REG224",
        "taken-as-designed",
        "note",
        "Joints were moved, so that the mechanism moves as it was meant to.",
        "It was asked for: `--as-designed`, or load(..., as_designed=True).",
        "A Schmidt coupling saved with seven digits.",
        "Compare with what is said without it; `regularize fix MODEL --as-designed` writes the "
        "numbers.",
    ),
    Rule(
        "REG225",
        "gaps-absorbed",
        "note",
        "Loops contradicted themselves in redundant directions, and joint frames were moved as "
        "little as closes them, as --absorb-gaps asks.",
        "What follows is of the mechanism with these frames, not of the file.",
        "A planar four-bar whose last hinge is 2 mm off along its axis.",
        "Nothing, or correct the frames in the file: `regularize fix --absorb-gaps`.",
    ),
    Rule(
        "REG226",
        "gaps-not-absorbed",
        "warning",
        "A gap was to be absorbed, and coordinates would have to close it, but cannot.",
        "The machine cannot be assembled; moving frames would make links longer or shorter.",
        "A four-bar with one link longer than the others together.",
        "Correct the lengths.",
    ),
    Rule(
        "REG227",
        "held-in-a-group",
        "note",
        "Rows are redundant because legs that each allow more agree on one group of motions, or "
        "because a loop of four hinges is a parallelogram. The kept rows hold the group itself: "
        "beside those at the cuts there are linear relations of the joints of one leg.",
        "Theorem: add a virtual joint of the group between two bodies; let K be the kept rows of "
        "the mechanism with it, proved from the joint axes, and r the rank of all loop equations "
        "at the assembled pose. If K has full rank r + dim g there, the bodies move in the group "
        "wherever motions lead along which the equations keep the rank r. That ends at a "
        "constraint singularity, or where a leg is singular; for a parallelogram, where it goes "
        "flat.",
        "A platform on four legs R-U-U: each stops it from turning about one horizontal axis, two "
        "of these axes determine the others, and which two would do changes with the pose.",
        "Stay away from such poses (simulate says when it comes near one, REG228). Styles other "
        "than rows keep all rows of the cuts instead.",
        "Kong and Gosselin, Type Synthesis of Parallel Mechanisms (2007)",
        ("Setting", "Groups", "Held", "Theorem"),
    ),
    Rule(
        "REG228",
        "near-end-of-proof",
        "warning",
        "A simulation came near a pose at which redundant rows need not be redundant any more.",
        "Beyond a constraint singularity legs can let a platform out of its group of motions, and "
        "a flat parallelogram can turn into an antiparallelogram; the kept rows do not know.",
        "A platform on four legs R-U-U whose horizontal axes all become parallel.",
        "Reduce the mechanism again on the other side, or stay away from the pose.",
    ),
    Rule(
        "REG229",
        "gaps-absorbed-otherwise",
        "warning",
        "Gaps were absorbed, and the loops move less than they may have been meant to.",
        "Other equations are so weak that noise may be all that makes them count, but the gaps are "
        "too small to tell. Closing them by the least change leaves these equations in force.",
        "A four-bar whose axes are off by 0.03 degrees, and whose loop is open by a tenth of that.",
        "If it is meant to move: --absorb-gaps --as-designed; else nothing.",
    ),
    Rule(
        "REG230",
        "redundant-along-a-motion",
        "warning",
        "Equations are redundant for these dimensions: the joints are those of a mechanism that is "
        "known to move, up to rounding, and its motion was put into the closure equations of the "
        "loops exactly.",
        "Theorem: let half-angle tangents of the joints be functions on a curve with which all "
        "loops stay closed, and let the kept rows leave one velocity at the assembled pose. Then "
        "they imply all others as far as the machine moves while they keep their rank. The "
        "mechanism moves only as long as the dimensions are met exactly; nothing is removed "
        "unless asked for.",
        "Linkages of Bennett, Goldberg, Waldron, Schatz and Bricard; a parallelogram with a third "
        "equal crank; a line that Hart's antiparallelogram guides.",
        "Keep all rows, or remove those: reduce(..., numerical=True). `regularize check --proof` "
        "writes the motion and `regularize verify` checks it.",
        "Hegedüs, Schicho and Schröcker, Mechanism and Machine Theory 69 (2013)",
        ("Setting", "Motion", "Theorem"),
    ),
    Rule(
        "REG233",
        "needed-elsewhere",
        "warning",
        "Rows depend on the others at all configurations visited, and yet the others let something "
        "go at another one that the mechanism can move to.",
        "Without them a simulation leaves the motion of the mechanism there: which rows can be "
        "spared may change with the configuration.",
        "Bricard's linkage, where every fixed choice of five rows fails on the way round.",
        "Keep them; solvers then need damping for one row too many. Each place was found by going "
        "down the smallest singular value of the kept rows, relative to that of all equations.",
    ),
    Rule(
        "REG234",
        "groups-not-tried",
        "note",
        "Legs or parallelograms might explain equations that are left over; that they do was not "
        "tried.",
        "The theorem needs a regular pose, a mechanism that is not shaky, and numbers that are "
        "exact but for rounding.",
        "A platform on four legs R-U-U whose axes were saved with four digits.",
        "Write the numbers with all their digits or analyse the mechanism as designed "
        "(`--as-designed`); assemble it at a pose that is not singular.",
    ),
    Rule(
        "REG301",
        "not-expressible",
        "error",
        "The target of the export cannot express this set of rows exactly.",
        "Pinocchio's constraint models have three or six rows.",
        "A helical joint as a closure of MJCF.",
        "Choose another style, for example rows.",
    ),
    Rule(
        "REG302",
        "lossy-export",
        "warning",
        "The target format cannot hold something that the model has.",
        "The exported file describes another mechanism in that respect.",
        "A screw coupling in URDF.",
        "Choose another format, or the project's own JSON.",
    ),
    Rule(
        "REG303",
        "no-mass",
        "note",
        "A body states no mass properties and moves without mass.",
        "At the end of a chain it makes the mass matrix singular.",
        "A dummy link of an exporter.",
        "Give it an <inertial> element, or a density with --density.",
    ),
    Rule(
        "REG304",
        "dependent-rows",
        "warning",
        "Some of the rows that are kept depend on the others.",
        "Solvers need damping for them, and the forces along them are arbitrary.",
        "Bennett's linkage exported with all its rows.",
        "Remove them on numerical evidence, or keep the damping.",
    ),
    Rule(
        "REG305",
        "coupling-as-row",
        "warning",
        "The target has no constraint model for a coupling between joints.",
        "The coupling is enforced in some of the export only.",
        "A mimic joint in Pinocchio's anchor constraints.",
        "Use the style rows, or the forward dynamics that comes with the export.",
    ),
    Rule(
        "REG306",
        "massless-chain",
        "warning",
        "A chain of the spanning tree ends in bodies without mass or inertia.",
        "The mass matrix is singular, and solvers that invert it fail.",
        "The dummy link of an exporter at the end of an open chain.",
        "Give these bodies mass properties, or choose other cuts.",
    ),
    Rule(
        "REG307",
        "removed-on-evidence",
        "warning",
        "Constraints that follow from special dimensions were removed on numerical evidence.",
        "The result holds on this assembly mode and only as long as the dimensions are met "
        "exactly.",
        "Bennett's linkage made isostatic.",
        "Nothing on this assembly mode; keep the full set of rows elsewhere.",
    ),
    Rule(
        "REG308",
        "changed-mobility",
        "error",
        "The mechanism that was made isostatic does not move like the original.",
        "A simulation of it would be of another machine.",
        "A joint that had to be relaxed and frees a body.",
        "Do not use the result; keep the original with its reduced rows.",
    ),
    Rule(
        "REG309",
        "slack-on-ground",
        "note",
        "Slack joints stand on the ground, so the links between them have no mass to share.",
        "Some engines refuse massless links.",
        "A four-bar whose closing hinge sits on the base.",
        "Give these links a small mass; it does not change the motion.",
    ),
    Rule(
        "REG310",
        "part-left-out",
        "note",
        "A metamodel leaves out a part of its bounds, which cannot be reached on this branch, or "
        "not without coming near a singularity.",
        "Asked there, it answers with an error (in C with -1) instead of a number.",
        "A four-bar whose driven joint is bounded by two singular configurations.",
        "Narrow the bounds, or let boxes at the boundary become smaller: --smallest.",
        _BRULS,
    ),
    Rule(
        "REG311",
        "idle-body-held",
        "note",
        "A body can spin about its own line without moving anything else, and the reduced model "
        "holds it by a universal joint in place of a spherical one.",
        "Actuators do not determine the spin, so their dynamics cannot contain it.",
        "The rods of a Delta robot between two spherical joints.",
        "Make one of its joints universal in the model.",
    ),
    Rule(
        "REG312",
        "tolerance-missed",
        "warning",
        "A metamodel is less accurate than asked for at some random points.",
        "Near singularities inertia and forces grow without bound, and no polynomial follows.",
        "Bounds of a 3-PRRR that reach to where a leg is stretched.",
        "Keep away from singularities with --clearance, or allow smaller boxes with --smallest.",
        _BRULS,
    ),
    Rule(
        "REG313",
        "path-through-singularity",
        "warning",
        "A path, or a motion in minimal coordinates, goes straight on at a singular configuration, "
        "where the mechanism could turn into another motion.",
        "Which way a real mechanism takes there is decided by play, friction and inertia.",
        "The flat pose of a parallelogram, from where it can become a crossed one.",
        "Stay away from the pose, or add a part that leads the mechanism through.",
    ),
    Rule(
        "REG314",
        "passage-undecided",
        "warning",
        "Two motions of the mechanism come so near to each other that rounding decided which of "
        "them a simulation followed.",
        "The other one may be meant, and the real mechanism may follow either.",
        "A four-bar whose shortest and longest bar together are longer than the others by 1e-9 m.",
        "Write the dimensions with more digits, or change them until the motions cross or stay "
        "apart.",
    ),
    Rule(
        "REG315",
        "energy-jump",
        "warning",
        "The energy of a simulated motion changes by more than forces and rounding explain.",
        "The simulation has left the motion that it was on, or its steps were too long.",
        "A linkage that springs to another way of being assembled at a singular configuration.",
        "Ask for a smaller relative error (--rtol), or integrate all coordinates "
        "(--coordinates all).",
    ),
    Rule(
        "REG316",
        "limits-not-enforced",
        "note",
        "Joints have limits of position, rate or force, which a simulation does not enforce.",
        "The motion may go where the machine cannot.",
        "A leg that swings past its stop.",
        "Look whether the motion keeps to them, and let forces stop or drive the joints if not.",
    ),
    Rule(
        "REG317",
        "friction-regularised",
        "note",
        "Dry friction of joints falls off at low rates in a simulation.",
        "A joint that would stick creeps at a small part of that rate.",
        "A gripper that holds by the friction of its hinges.",
        "Ask for a lower rate of slipping; steps become shorter then.",
    ),
    Rule(
        "REG318",
        "held-at-second-order",
        "note",
        "A joint that can never move has a velocity to first order; in simulation it is held.",
        "A self-stress makes the motion impossible, but no finite force in the joints stops it.",
        "Three hinges on one line; a plate on three bars whose lines meet in a point.",
        "Nothing. Or change a length, so that the equations of the loops hold it by themselves.",
    ),
    Rule(
        "REG320",
        "another-machine",
        "error",
        "What was written has other loops, another mobility or another redundancy than the model, "
        "as reading it back shows.",
        "A simulation of it would be of another machine.",
        "A closure that the target drops, or joins elsewhere.",
        "Nothing was written; choose another format, or the project's own JSON.",
    ),
    Rule(
        "REG321",
        "name-changed",
        "warning",
        "A body or a joint has another name in the written file, is missing there, or was added.",
        "Programs that look for it by its name find nothing, or something else.",
        "A link and a joint of one name, which SDF does not allow.",
        "Rename it in the model, or use the new name; see the message.",
    ),
    Rule(
        "REG322",
        "mass-changed",
        "warning",
        "A body has other mass properties in the written file than in the model.",
        "Motion under forces differs.",
        "A link without mass, which MuJoCo does not move.",
        "Give the body mass properties in the model, or choose another format.",
    ),
    Rule(
        "REG323",
        "place-changed",
        "warning",
        "A joint stands or points elsewhere in the written file, or counts its coordinates from "
        "another zero.",
        "The mechanism moves differently, or the same coordinates mean another pose.",
        "A model stored away from its zero pose, in URDF, which has no stored coordinates.",
        "Choose a format that holds it, or correct what reads the coordinates.",
    ),
    Rule(
        "REG324",
        "limit-lost",
        "warning",
        "A bound of a joint's coordinate, velocity or force is not in the written file.",
        "Simulations and controllers go beyond what the machine can do.",
        "The limits of a joint that closes a loop, in MJCF.",
        "Choose another format, or bound the joint where the file is used.",
    ),
    Rule(
        "REG325",
        "dynamics-lost",
        "warning",
        "Damping, friction, stiffness, rest position or armature of a joint is not in the written "
        "file.",
        "Motion under forces differs: what was damped swings on.",
        "A spring, in URDF.",
        "Choose another format, or add it where the file is used.",
    ),
    Rule(
        "REG326",
        "actuator-lost",
        "warning",
        "An actuator, or the mark that a joint is driven, is not in the written file.",
        "Whoever drives the mechanism does not find its motors, or finds other ones.",
        "The motors of a model in SDF, which has no word for them.",
        "Choose another format, or name the driven joints where the file is used.",
    ),
    Rule(
        "REG327",
        "coupling-lost",
        "warning",
        "A coupling or a prescribed motion is not in the written file.",
        "The mechanism has a freedom more, or nobody knows how it is meant to move.",
        "A differential between three shafts, in URDF.",
        "Choose another format, or the project's own JSON.",
    ),
    Rule(
        "REG328",
        "shape-lost",
        "warning",
        "A shape of a body, its place or its mesh file is not the same in the written file.",
        "Pictures and contacts differ.",
        "A capsule in a format that has none.",
        "Choose another format, or add the shape to the file.",
    ),
    Rule(
        "REG329",
        "left-behind",
        "warning",
        "Something of the model, or of the file that it was read from, is not in the written file.",
        "Programs that use it miss it.",
        "Sensors, contact exclusions or controllers beside the mechanism.",
        "Patch the model's own file instead: `regularize fix`, which leaves them where they are.",
    ),
    Rule(
        "REG330",
        "legacy-differs",
        "warning",
        "Pinocchio's older rigid constraints, the export style legacy, give other accelerations "
        "than the kept equations.",
        "They hold all equations, the redundant ones as well; where the geometry is rounded, these "
        "contradict each other a little, and the iterations settle at something else.",
        "A spherical linkage whose axes were saved with seven digits.",
        "Use the style rows, anchors or slack, which leave the redundant equations out.",
    ),
    Rule(
        "REG331",
        "motors-passed-over",
        "note",
        "The minimal coordinates are not those of the motors.",
        "The motors' coordinates do not determine the others well at the start, do not determine "
        "them at all, or belong to joints at which loops are cut.",
        "A motor at the rocker of a four-bar whose crank and coupler are in line.",
        "Nothing, where only the motion counts; else start elsewhere, give the motors' joints as "
        "independent coordinates, or cut the loops at other joints.",
    ),
)

BY_CODE = {rule.code: rule for rule in RULES}


def rule(code: str) -> Rule | None:
    """The rule of a code or of a name, or None."""
    named = (entry for entry in RULES if entry.name == code.lower())
    return BY_CODE.get(code.upper()) or next(named, None)
