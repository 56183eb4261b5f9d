"""Watch: is a system still the one that was measured, and does a change matter to the lists that it makes?

`record_fingerprint` asks a system for fixed and own texts several times and keeps its answers; `check_fingerprint` asks
again and tells a change from noise, with a false-alarm rate over all checks together; `compare_systems` does so for one
model behind two servers.
"""
