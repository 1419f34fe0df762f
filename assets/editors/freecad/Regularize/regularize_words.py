"""German for the panel's own words; English is the key."""

GERMAN = {
    "Redundant joints": "Überbestimmte Verbindungen",
    "Finds joints of the assembly that hold each other, and proposes changes": (
        "Findet Verbindungen der Baugruppe, die einander überbestimmen, und schlägt Änderungen vor"
    ),
    "{} redundant equations": "{} überzählige Bedingungen",
    "No redundant constraints": "Keine überzähligen Bedingungen",
    "Degrees of freedom: {}.": "Freiheitsgrade: {}.",
    "A loop cannot be closed: the joints contradict each other.": (
        "Eine Schleife lässt sich nicht schließen: die Verbindungen widersprechen einander."
    ),
    "{} equations are held already by {}": "{} Bedingungen halten schon {}",
    "Changes": "Änderungen",
    "Fit": "Passung",
    "Findings": "Hinweise",
    "Left": "Es bleiben",
    "Load": "Last",
    "Apply change": "Änderung anwenden",
    "Watch": "Bewegung zeigen",
    "Stop": "Anhalten",
    "Give tolerances": "Toleranzen angeben",
    "Check after each recompute": "Nach jeder Neuberechnung prüfen",
    "Check": "Prüfen",
    "Cancel": "Abbrechen",
    "Checking …": "Prüfung läuft …",
    "Cancelled.": "Abgebrochen.",
    "Open an assembly first.": "Zuerst eine Baugruppe öffnen.",
    "FreeCAD has no such joint": "solche Verbindungen kennt FreeCAD nicht",
    "{} → {} N": "{} → {} N",
    "Install it into FreeCAD's Python: {}": "In FreeCADs Python installieren: {}",
    "Fixed": "Fest",
    "Revolute": "Drehgelenk",
    "Cylindrical": "Drehschubgelenk",
    "Slider": "Schubgelenk",
    "Ball": "Kugelgelenk",
    "Parallel": "Parallel",
    "Suppressed": "unterdrückt (Spiel)",
    "fixed-floating": "Fest-Los-Lagerung",
    "ball and point": "Kugel und Punkt auf Linie",
    "round and flat rail": "Rund- und Flachführung",
    "bush and slot": "Buchse und Langloch",
    "diamond pin": "Schwertbolzen",
    "three-point support": "Dreipunktauflage",
    "spherical plain bearing": "Gelenklager",
    "pendulum support": "Pendelstütze",
    "clearance": "Spiel",
}


class Translation:
    """Words in one language; what has no translation stays English."""

    def __init__(self, language):
        self.language = "de" if language.lower().startswith(("de", "german")) else "en"

    def __call__(self, text):
        """Translate a text; one without a translation stays as it is."""
        return GERMAN.get(text, text) if self.language == "de" else text


def translated(language):
    """Return a function that translates into ``en`` or ``de``."""
    return Translation(language)
