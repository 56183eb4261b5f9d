"""Do people find that paraphrases keep the meaning? (spec/pteb, section 10)"""
