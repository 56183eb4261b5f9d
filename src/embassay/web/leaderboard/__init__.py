"""The leaderboard: the runs of a folder as boards, live, over HTTP. Data and server here, pages in `page/`."""
