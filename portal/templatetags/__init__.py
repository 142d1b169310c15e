"""Tags of every page: icons, pills, times, the frame."""
