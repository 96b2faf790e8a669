"""Why a sequential experiment stopped, on the page."""
