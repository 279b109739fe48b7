set(qv_match_sources match/qv_match.c)
