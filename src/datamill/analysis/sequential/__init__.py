"""Whether a sequential experiment may stop, by rules that looking often does not spoil; pure."""
