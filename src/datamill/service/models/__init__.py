"""What the coordinator knows, as tables. The database is the only truth; messages only carry it.

The lifecycles in `docs/lifecycles/` are enforced here: by constraints, and by the triggers of the migration
`guards`. Times are seconds since the Unix epoch.
"""

from datamill.service.administration.tables import Retention as Retention
from datamill.service.administration.tables import UserQuota as UserQuota
from datamill.service.files.experiment_files import ExperimentFile as ExperimentFile
from datamill.service.files.registered_factors import FactorRule as FactorRule
from datamill.service.files.registered_factors import RegisteredFactor as RegisteredFactor
from datamill.service.keyed_requests.tables import KeyedRequest as KeyedRequest
from datamill.service.models.events import Event as Event
from datamill.service.models.experiments import FleetExperiment as FleetExperiment
from datamill.service.models.experiments import Look as Look
from datamill.service.models.experiments import Pace as Pace
from datamill.service.models.experiments import PackageStanding as PackageStanding
from datamill.service.models.experiments import Spare as Spare
from datamill.service.models.machines import ApiKey as ApiKey
from datamill.service.models.machines import EnrolmentToken as EnrolmentToken
from datamill.service.models.machines import FleetWorker as FleetWorker
from datamill.service.models.stored_files import FileHolder as FileHolder
from datamill.service.models.stored_files import Quarantine as Quarantine
from datamill.service.models.stored_files import StoredFile as StoredFile
from datamill.service.models.trials import Artifact as Artifact
from datamill.service.models.trials import Attempt as Attempt
from datamill.service.models.trials import OutputPiece as OutputPiece
from datamill.service.models.trials import Trial as Trial
from datamill.service.models.trials import TrialCount as TrialCount
from datamill.service.notices.tables import Notice as Notice
from datamill.service.notices.tables import NoticeCursor as NoticeCursor
from datamill.service.notices.tables import NoticeTarget as NoticeTarget
from datamill.service.publishing.tables import Publication as Publication
from datamill.service.publishing.tables import Rerun as Rerun
from datamill.service.queue.machine_time import ExperimentTime as ExperimentTime
from datamill.service.queue.machine_time import UserShare as UserShare
from datamill.service.queue.machine_time import UserTime as UserTime
