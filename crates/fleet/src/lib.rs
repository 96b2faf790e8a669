//! A machine that joined a fleet: enrolment, orders, the journal that survives reboots, and reports.
