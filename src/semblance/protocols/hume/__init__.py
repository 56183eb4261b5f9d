"""HUME: how would people do on the same items, and how well do they agree?"""
