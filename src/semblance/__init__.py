"""Semblance: does similarity mean what people think it means, under the conditions it will really meet?"""
