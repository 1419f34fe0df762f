"""The command and its task panel: what `regularize_panel` finds, shown and applied in FreeCAD."""

import os
import textwrap
import threading

import FreeCAD
import FreeCADGui
import regularize_panel as panel_of
from PySide import QtCore, QtWidgets
from regularize_words import translated

ICON = os.path.join(os.path.dirname(__file__), "resources", "regularize.svg")
#: Milliseconds after the last recompute of a document before it is checked again.
SETTLED = 300
#: Milliseconds between two pictures of a motion.
FRAME = 40
#: Characters of a line in the panel.
WIDTH = 34


def language():
    """Return the language that the user has chosen for FreeCAD."""
    chosen = FreeCAD.ParamGet("User parameter:BaseApp/Preferences/General")
    return chosen.GetString("Language", "English")


class Analysis(QtCore.QObject):
    """An analysis in a thread of its own, whose results come back in the window's thread."""

    _progressed = QtCore.Signal(float)
    _ended = QtCore.Signal(object, str)

    def __init__(self, document, language, progressed, ended):
        super().__init__()
        self._cancelled = threading.Event()
        self._callbacks = progressed, ended
        # Slots of an object of this thread: what the other thread emits is queued for it.
        self._progressed.connect(self._pass_progress)
        self._ended.connect(self._pass_end)
        self._copy = panel_of.copy_of(document)
        # The document is read here: FreeCAD's objects belong to the window's thread.
        path, fit = self._copy.__enter__(), panel_of.fit_of(document)
        self._thread = threading.Thread(
            target=self._run, args=(path, fit, language), name="regularize", daemon=True
        )
        self._thread.start()

    def cancel(self):
        """End as soon as a step of the analysis is over; nothing is said then."""
        self._cancelled.set()

    @QtCore.Slot(float)
    def _pass_progress(self, fraction):
        if not self._cancelled.is_set():
            self._callbacks[0](fraction)

    @QtCore.Slot(object, str)
    def _pass_end(self, panel, error):
        if not self._cancelled.is_set():
            self._callbacks[1](panel, error)

    def _run(self, path, fit, language):
        panel, error = None, ""
        try:
            panel = panel_of.analyse_file(path, fit, self._progress, language)
        except panel_of.Cancelled:
            pass
        except ImportError as missing:
            error = translated(language)("Install it into FreeCAD's Python: {}").format(missing)
        except Exception as reason:  # whatever it is, the window must say it
            error = str(reason) or type(reason).__name__
        finally:
            self._copy.__exit__(None, None, None)
        self._ended.emit(panel, error)

    def _progress(self, fraction):
        if self._cancelled.is_set():
            raise panel_of.Cancelled
        self._progressed.emit(fraction)


class Observer:
    """Tells the panel that its document was recomputed or closed."""

    def __init__(self, task):
        self.task = task

    def slotRecomputedDocument(self, document):
        """The document was recomputed."""
        if document == self.task.document:
            self.task.settle.start(SETTLED)

    def slotDeletedDocument(self, document):
        """The document is closed."""
        if document == self.task.document:
            FreeCADGui.Control.closeDialog()


class Ghosts:
    """Transparent copies of parts in the 3D view, which move while the parts themselves stay."""

    def __init__(self, document):
        from pivy import coin

        self._coin, self._moves = coin, {}
        self._root = coin.SoSeparator()
        look = coin.SoMaterial()
        look.transparency.setValue(0.7)
        look.diffuseColor.setValue(0.1, 0.5, 0.9)
        look.setOverride(True)
        plain = coin.SoPickStyle()
        plain.style.setValue(coin.SoPickStyle.UNPICKABLE)
        for node in (look, plain):
            self._root.addChild(node)
        self._scene = FreeCADGui.getDocument(document.Name).ActiveView.getSceneGraph()
        self._document = document

    def show(self, poses):
        """Put a ghost of each part where its displacement (four rows, mm) brings it."""
        if not self._moves:
            self._scene.addChild(self._root)
        for name, rows in poses.items():
            move = self._moves.get(name)
            if move is None:
                part = self._document.getObject(name)
                if part is None or part.ViewObject is None:
                    continue
                group, move = self._coin.SoSeparator(), self._coin.SoMatrixTransform()
                group.addChild(move)
                group.addChild(part.ViewObject.RootNode)
                self._root.addChild(group)
                self._moves[name] = move
            columns = [value for column in zip(*rows, strict=True) for value in column]
            move.matrix.setValue(self._coin.SbMatrix(*columns))

    def remove(self):
        """Take all ghosts out of the view."""
        if self._moves:
            self._scene.removeChild(self._root)
            self._moves = {}


class Task:
    """The task panel: verdict, redundant joints, changes, fit and findings."""

    def __init__(self, document):
        self.document, self.panel, self.analysis = document, None, None
        self.say = translated(language())
        self.ghosts, self.frames, self.frame = None, [], 0
        self._build()
        self.settle = QtCore.QTimer(self.form)
        self.settle.setSingleShot(True)
        self.settle.timeout.connect(self._recomputed)
        self.clock = QtCore.QTimer(self.form)
        self.clock.timeout.connect(self._next_frame)
        self.observer = Observer(self)
        FreeCAD.addDocumentObserver(self.observer)
        self.check()

    def _build(self):
        say = self.say
        self.form = QtWidgets.QWidget()
        self.form.setWindowTitle(say("Redundant joints"))
        box = QtWidgets.QVBoxLayout(self.form)
        self.head = QtWidgets.QLabel()
        self.head.setWordWrap(True)
        self.bar = QtWidgets.QProgressBar()
        self.tree = QtWidgets.QTreeWidget()
        self.tree.setHeaderLabels(["", say("Left"), say("Load")])
        self.tree.setMinimumHeight(280)
        self.tree.setTextElideMode(QtCore.Qt.ElideNone)
        self.tree.header().setStretchLastSection(False)
        self.tree.header().setSectionResizeMode(0, QtWidgets.QHeaderView.Stretch)
        self.live = QtWidgets.QCheckBox(say("Check after each recompute"))
        self.live.setChecked(True)
        for widget in (self.head, self.bar, self.tree):
            box.addWidget(widget)
        buttons = QtWidgets.QGridLayout()
        for place, (name, text, action) in enumerate(
            (
                ("apply", "Apply change", self.apply_change),
                ("watch_button", "Watch", self.watch),
                ("again", "Check", self.check_or_cancel),
                ("fit", "Give tolerances", self.give_fit),
            )
        ):
            button = QtWidgets.QPushButton(say(text))
            button.clicked.connect(lambda *_, action=action: action())
            setattr(self, name, button)
            buttons.addWidget(button, place // 2, place % 2)
        box.addLayout(buttons)
        box.addWidget(self.live)
        self.tree.itemSelectionChanged.connect(self.select)

    def check(self):
        """Analyse the document anew; a running analysis is stopped first."""
        if self.analysis is not None:
            self.analysis.cancel()
        self.head.setText(self.say("Checking …"))
        self.bar.setRange(0, 0)
        self.bar.show()
        self.again.setText(self.say("Cancel"))
        try:
            self.analysis = Analysis(self.document, language(), self._progressed, self._ended)
        except Exception as error:  # the document cannot be copied
            self._ended(None, str(error))

    def cancel(self):
        """Stop the analysis."""
        if self.analysis is not None:
            self.analysis.cancel()
            self._ended(None, self.say("Cancelled."))

    def check_or_cancel(self):
        """Check, or stop the analysis that runs."""
        self.cancel() if self.analysis is not None else self.check()

    def apply_change(self):
        """Make the selected change in the document; undo takes it back."""
        change = self._selected(panel_of.Change)
        if change is None or not change.possible:
            return
        self._stop_watching()
        try:
            panel_of.apply(self.document, change)
        except Exception as error:
            self.head.setText(str(error))
            return
        self.check()

    def give_fit(self):
        """Give all joints properties for tolerance and stiffness, to be filled in by the user."""
        panel_of.give_fit(self.document, "0.05mm,0.1deg", "50N/um,2000Nm/rad")
        self.check()

    def select(self):
        """Select the joints of the chosen row in the tree and, with their faces, in the view."""
        chosen = self._selected(object)
        names = getattr(chosen, "objects", None) or [getattr(chosen, "object", None)]
        FreeCADGui.Selection.clearSelection()
        for name in filter(None, names):
            joint = self.document.getObject(name)
            if joint is None:
                continue
            FreeCADGui.Selection.addSelection(joint)
            for reference in (joint.Reference1, joint.Reference2):
                if reference and reference[0] is not None:
                    for element in reference[1][:1]:
                        FreeCADGui.Selection.addSelection(reference[0], element)
        possible = isinstance(chosen, panel_of.Change) and chosen.possible
        self.apply.setEnabled(possible)

    def watch(self):
        """Show the freedoms one after another, or stop."""
        if self.clock.isActive():
            self._stop_watching()
            return
        found = panel_of.motions(self.panel) if self.panel is not None else []
        self.frames = [
            {name: poses[i] for name, poses in parts.items()}
            for _, parts in found
            for i in range(len(next(iter(parts.values()), [])))
        ]
        if self.frames:
            self.ghosts, self.frame = Ghosts(self.document), 0
            self.watch_text("Stop")
            self.clock.start(FRAME)

    def watch_text(self, text):
        """Write the button's text."""
        self.watch_button.setText(self.say(text))

    def reject(self):
        """Close the panel."""
        if self.analysis is not None:
            self.analysis.cancel()
        self._stop_watching()
        FreeCAD.removeDocumentObserver(self.observer)
        FreeCADGui.Control.closeDialog()
        return True

    def getStandardButtons(self):
        """Return the dialogue's buttons."""
        return QtWidgets.QDialogButtonBox.Close

    def _recomputed(self):
        if self.live.isChecked():
            self.check()

    def _next_frame(self):
        self.ghosts.show(self.frames[self.frame % len(self.frames)])
        self.frame += 1

    def _stop_watching(self):
        self.clock.stop()
        self.watch_text("Watch")
        if self.ghosts is not None:
            self.ghosts.remove()
            self.ghosts = None

    def _progressed(self, fraction):
        self.bar.setRange(0, 100)
        self.bar.setValue(round(100 * fraction))

    def _ended(self, panel, error):
        self.analysis = None
        self.bar.hide()
        self.again.setText(self.say("Check"))
        self._stop_watching()
        if panel is None:
            self.head.setText(error)
            return
        self.panel = panel
        self.head.setText(panel.verdict)
        self._fill()

    def _fill(self):
        say, panel = self.say, self.panel
        self.tree.clear()
        changes = []
        for change in panel.changes:
            text = change.text.replace("; ", "\n")
            if not change.possible:
                text += f" ({say('FreeCAD has no such joint')})"
            load = "" if change.load is None else f"{change.load[0]:.3g} → {change.load[1]:.3g} N"
            changes.append((text, str(change.left), load, change))
        joints = [(f"{j.label}: {j.text}", str(j.equations), "", j) for j in panel.joints]
        fit = []
        for f in panel.fit:
            turns = "rotation" in f.text
            gap = f"{f.worst * 1e3:.3g} {'mrad' if turns else 'mm'}"
            force = "" if f.force is None else f"{f.force:.3g} {'N m' if turns else 'N'}"
            fit.append((f"{f.joint}, {f.text}", gap, force, None))
        findings = [(text, severity, "", None) for severity, text in panel.findings]
        for title, rows in (
            ("Changes", changes),
            ("Redundant joints", joints),
            ("Fit", fit),
            ("Findings", findings),
        ):
            if not rows:
                continue
            top = QtWidgets.QTreeWidgetItem([say(title)])
            self.tree.addTopLevelItem(top)
            for *cells, data in rows:
                lines = (textwrap.wrap(line, WIDTH) for line in cells[0].splitlines())
                item = QtWidgets.QTreeWidgetItem(
                    ["\n".join(line for part in lines for line in part), *cells[1:]]
                )
                item.setData(0, QtCore.Qt.UserRole, data)
                top.addChild(item)
            top.setExpanded(title != "Findings" or any(row[1] == "error" for row in rows))
        for column in (1, 2):
            self.tree.resizeColumnToContents(column)
        self.apply.setEnabled(False)

    def _selected(self, kind):
        for item in self.tree.selectedItems():
            data = item.data(0, QtCore.Qt.UserRole)
            if isinstance(data, kind) and data is not None:
                return data
        return None


class Check:
    """The command that opens the panel."""

    def GetResources(self):
        """Return name, explanation and icon."""
        say = translated(language())
        help = say("Finds joints of the assembly that hold each other, and proposes changes")
        return {"MenuText": say("Redundant joints"), "ToolTip": help, "Pixmap": ICON}

    def IsActive(self):
        """Whether a document is open."""
        return FreeCAD.ActiveDocument is not None and not FreeCADGui.Control.activeDialog()

    def Activated(self):
        """Open the panel on the active document."""
        FreeCADGui.Control.showDialog(Task(FreeCAD.ActiveDocument))
