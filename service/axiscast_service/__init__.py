"""The axiscast service: broadcasting over HTTP. The rules of all frameworks are lowered to one type of plan.

request -> wire -> ops lower() -> Plan -> estimates -> engine -> wire -> response
"""
