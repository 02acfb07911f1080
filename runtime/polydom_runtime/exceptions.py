"""The errors that the runtime raises on purpose."""


class PolyDomError(Exception):
    """Base of all errors of Poly-Dom."""


class CostFunctionError(PolyDomError, ValueError):
    """A cost function has an impossible weight."""


class FeatureError(PolyDomError, ValueError):
    """A feature, a step or a feature space is declared wrongly, or an extractor broke its contract."""


class ItemError(PolyDomError, ValueError):
    """An item, or a source of items, cannot be used."""


class BundleFormatError(PolyDomError, ValueError):
    """A bundle is damaged, incomplete, inconsistent or of an unknown version."""


class SignatureError(BundleFormatError):
    """A bundle is not signed as it must be, or the keys that it is checked with cannot be used."""


class BundleMismatchError(PolyDomError, ValueError):
    """A bundle is sound, but was built for another feature space."""


class DeadlineError(PolyDomError, ValueError):
    """A deadline is impossible."""


class MeasurementError(PolyDomError, ValueError):
    """A file of cost samples is damaged, unfinished or a different kind of file, or its times are impossible."""


class ProfileError(PolyDomError, ValueError):
    """A device profile is unknown or malformed, or has a figure that is impossible or has no source."""


class RecordingError(PolyDomError, ValueError):
    """A flight recording is damaged or a different kind of file, or a recorder or file of metrics cannot be opened."""


class LoopError(PolyDomError, ValueError):
    """A loop cannot run: its period, its overrun policy or its watchdog is impossible."""


class CertificateError(PolyDomError, ValueError):
    """A claim about missed deadlines is impossible, or a certificate cannot be read, written or trusted."""


class EnergyError(PolyDomError, ValueError):
    """An energy budget is impossible, or a file of energies is malformed."""


class ConfidenceError(PolyDomError, ValueError):
    """A wanted confidence or accuracy of answers is impossible."""


class PredictorInUseError(PolyDomError, RuntimeError):
    """A predictor was called while it was at work, copied or pickled: each thread and process needs its own."""


class WorkerError(PolyDomError, RuntimeError):
    """The process that computes features cannot be started."""


class UpdateError(PolyDomError, RuntimeError):
    """A bundle cannot be installed on this node, or there is no release to use instead of the current one."""


class PackageError(PolyDomError, ImportError):
    """An option needs a Python package that is not installed."""


class PublishingError(PolyDomError, ValueError):
    """Answers cannot be published: the address of the broker, the login or another setting cannot be used."""
